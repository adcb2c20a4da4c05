import type { FormatName } from "./formats.ts";
import type { Task } from "./task.ts";

export const hotpot = {
  _id: "5a8b",
  question: "Which mill on the Ashel is older?",
  answer: "Garrow Mill",
  type: "comparison",
  level: "hard",
  supporting_facts: [
    ["Garrow Mill", 0],
    ["Garrow Mill", 2],
    ["Tarn Mill", 0],
  ],
  context: [["Garrow Mill", ["It is old."]]],
};
const paragraphs = [
  { idx: 0, title: "Renn", paragraph_text: "…", is_supporting: true },
  { idx: 1, title: "Nobody", paragraph_text: "…", is_supporting: false },
  { idx: 2, title: "Garrow Mill", paragraph_text: "…", is_supporting: true },
];
export const musique = {
  id: "2hop__1_2",
  question: "Where was the builder of Garrow Mill born?",
  answer: "Ashel",
  answer_aliases: ["Ashelford"],
  answerable: true,
  paragraphs,
  question_decomposition: [
    { id: 1, question: "Garrow Mill >> builder", answer: "Renn", paragraph_support_idx: 2 },
    { id: 2, question: "#1 >> born", answer: "Ashel", paragraph_support_idx: 0 },
  ],
};

/** One record of each format as its data set publishes it, and the task it becomes. */
export const cases: readonly [FormatName, string, object, Partial<Task>][] = [
  [
    "search-r1",
    "Search-R1",
    {
      id: "test_3",
      question: "Q?",
      golden_answers: ["x", "y"],
      data_source: "hotpotqa",
      prompt: [{ role: "user", content: "Answer the given question. Question: Q?" }],
      reward_model: { style: "rule", ground_truth: { target: ["x", "y"] } },
      extra_info: { split: "test", index: 3 },
      metadata: { supporting_facts: { title: ["A", "B", "A"], sent_id: [0, 1, 2] } },
    },
    {
      id: "hotpotqa/test_3",
      goldenAnswers: ["x", "y"],
      dataset: "hotpotqa",
      hops: 2,
      supportingTitles: ["A", "B"],
    },
  ],
  [
    "search-r1",
    "verl",
    {
      data_source: "searchR1_nq",
      prompt: [
        { role: "system", content: "Be good." },
        { role: "user", content: " Q? " },
      ],
      reward_model: { ground_truth: { target: ["x"] } },
      extra_info: { split: "train", index: 12 },
    },
    { id: "nq/train_12", question: "Q?", goldenAnswers: ["x"], dataset: "nq", hops: 1 },
  ],
  [
    "search-r1",
    "DeepResearcher",
    {
      data_source: "Bamboogle",
      prompt: [{ role: "user", content: "Q?" }],
      reward_model: { ground_truth: "x<|answer_split|>y", style: "unknown" },
      extra_info: { index: "bamboogle_7", split: "dev" },
    },
    { id: "bamboogle/bamboogle_7", question: "Q?", goldenAnswers: ["x", "y"], dataset: "bamboogle", hops: 2 },
  ],
  [
    "flashrag",
    "FlashRAG",
    {
      id: "dev_0",
      question: "Q?",
      golden_answers: ["x"],
      metadata: { type: "bridge", supporting_facts: { title: ["A", "B"], sent_id: [0, 0] } },
    },
    { id: "dev_0", goldenAnswers: ["x"], dataset: "toy-set", hops: 2, supportingTitles: ["A", "B"] },
  ],
  [
    "hotpotqa",
    "HotpotQA",
    hotpot,
    {
      id: "5a8b",
      goldenAnswers: ["Garrow Mill"],
      dataset: "toy-set",
      hops: 2,
      supportingTitles: ["Garrow Mill", "Tarn Mill"],
    },
  ],
  [
    "hotpotqa",
    "HotpotQA at Hugging Face",
    { ...hotpot, _id: undefined, id: "5a8b", supporting_facts: { title: ["A", "B"], sent_id: [0, 1] } },
    { id: "5a8b", hops: 2, supportingTitles: ["A", "B"] },
  ],
  [
    "2wikimultihopqa",
    "2Wiki",
    {
      ...hotpot,
      type: "bridge_comparison",
      evidences: [["Garrow Mill", "builder", "Renn"]],
      supporting_facts: JSON.stringify([
        ["A", 0],
        ["B", 0],
        ["C", 0],
        ["D", 1],
      ]),
    },
    { id: "5a8b", hops: 4, supportingTitles: ["A", "B", "C", "D"] },
  ],
  [
    "2wikimultihopqa",
    "2Wiki without facts",
    { ...hotpot, supporting_facts: [], evidences: [], type: "bridge_comparison" },
    { hops: 4 },
  ],
  [
    "musique",
    "MuSiQue",
    musique,
    {
      id: "2hop__1_2",
      goldenAnswers: ["Ashel", "Ashelford"],
      hops: 2,
      supportingTitles: ["Garrow Mill", "Renn"],
    },
  ],
  [
    "musique",
    "MuSiQue without paragraphs",
    { id: "3hop1__1_2_3", question: "Q?", answer: "x", answer_aliases: [] },
    { id: "3hop1__1_2_3", goldenAnswers: ["x"], hops: 3 },
  ],
  [
    "nq-open",
    "NQ-open",
    { question: "q", answer: ["x", "y"] },
    { id: "toy-1", goldenAnswers: ["x", "y"], hops: 1 },
  ],
  [
    "triviaqa",
    "TriviaQA",
    {
      Question: "Q?",
      QuestionId: "tc_1",
      Answer: { Value: "X", Aliases: ["X", "Ex"], NormalizedAliases: ["ex"] },
    },
    { id: "tc_1", question: "Q?", goldenAnswers: ["X", "Ex"] },
  ],
  [
    "triviaqa",
    "TriviaQA at Hugging Face",
    {
      question: "Q?",
      question_id: "tc_1",
      answer: { value: "X", aliases: ["Ex"], normalized_aliases: ["ex"] },
    },
    { id: "tc_1", goldenAnswers: ["X", "Ex"] },
  ],
  [
    "popqa",
    "PopQA",
    {
      id: 7,
      subj: "Dan",
      prop: "father",
      question: "Q?",
      possible_answers: '["x", "y"]',
      s_wiki_title: "Dan (person)",
    },
    { id: "7", goldenAnswers: ["x", "y"], hops: 1, supportingTitles: ["Dan (person)"] },
  ],
  [
    "bamboogle",
    "Bamboogle",
    { Question: "Q?", Answer: "x" },
    { id: "toy-1", question: "Q?", goldenAnswers: ["x"], hops: 2 },
  ],
  [
    "forager",
    "our own",
    {
      id: "q",
      question: "Q?",
      golden_answers: ["x"],
      hops: 3,
      supporting_ids: ["p"],
      supporting_titles: ["P"],
    },
    { id: "q", hops: 3, supportingIds: ["p"], supportingTitles: ["P"] },
  ],
];
