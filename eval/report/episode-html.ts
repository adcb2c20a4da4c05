import { count } from "./format.ts";
import { type Html, html } from "./html.ts";
import type { Example } from "./report.ts";

type Episode = Example["episodes"][number];

/** Longest text of one segment that is shown, in characters. */
const mostCharacters = 6000;

/** Who speaks, in words; a source that is not here is shown by its name. */
const speakers: Readonly<Record<string, string>> = {
  policy: "policy",
  observation: "search results",
  injected: "the environment",
  prompt: "prompt",
};

export function exampleHtml({ title, chosen, episodes }: Example): Html {
  const same = new Set(episodes.map(({ question }) => question)).size === 1;
  return html`<h2 id="episodes">${title}</h2>
<p class="note">${chosen}</p>
${same && episodes[0] && questionHtml(episodes[0])}
<div class="episodes">${episodes.map((episode) => episodeHtml(episode, !same))}</div>`;
}

const questionHtml = ({ question, goldenAnswers }: Episode) =>
  html`<p class="question"><b>Question</b> <span dir="auto">${question}</span><br><b>Gold</b> <span dir="auto">${goldenAnswers.join(" | ")}</span></p>`;

function episodeHtml(episode: Episode, ownQuestion: boolean): Html {
  const { label, right, outcome, prediction, turns, searches, segments } = episode;
  let turn = 0;
  return html`<article>
<h3>${label} <span class="${right ? "right" : "wrong"}">${right ? "✓ right" : "✗ wrong"}</span></h3>
${ownQuestion && questionHtml(episode)}
<p class="note">${outcome}, ${count(turns, "turn")}, ${count(searches, "search", "searches")}, answer: <span dir="auto">${prediction ?? "none"}</span></p>
<ol>${segments.map(({ source, text }) => {
    if (source === "policy") turn++;
    const said = html`<div class="said" dir="auto">${tagged(shorten(text.trim()))}</div>`;
    const who = source === "policy" ? `turn ${turn}, ${speakers.policy}` : (speakers[source] ?? source);
    return html`<li class="${source === "policy" ? "policy" : "other"}">${
      source === "prompt"
        ? html`<details><summary>${who}</summary>${said}</details>`
        : html`<span class="who">${who}</span>${said}`
    }</li>`;
  })}</ol>
</article>`;
}

/** Tags of the protocol stand back behind what they hold. */
const tagged = (text: string) =>
  text
    .split(/(<\/?[a-z_]+>)/)
    .map((piece, i) => (i % 2 === 1 ? html`<span class="tag">${piece}</span>` : piece));

export function shorten(text: string): string {
  if (text.length <= mostCharacters) return text;
  const half = mostCharacters / 2;
  return `${text.slice(0, half)} … ${text.length - mostCharacters} more characters … ${text.slice(-half)}`;
}
