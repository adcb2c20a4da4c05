// An agent as anybody would write it: Forager trains the model behind the URL it is given.
import OpenAI from "openai";

const pages = { mill: "the mill was built by renn", bridge: "the bridge was built by oke" };
const search = (query) => pages[Object.keys(pages).find((title) => query.includes(title))] ?? "nothing found";

export async function agent({ question, baseUrl, apiKey }) {
  const openai = new OpenAI({ baseURL: baseUrl, apiKey });
  const messages = [{ role: "user", content: question }];
  for (let turn = 0; turn < 3; turn++) {
    const { choices } = await openai.chat.completions.create({ model: "policy", messages, max_tokens: 100 });
    const said = choices[0].message;
    const query = /<search>(.*?)<\/search>/s.exec(said.content)?.[1];
    if (query === undefined) return { answer: said.content };
    messages.push(said, { role: "user", content: search(query) });
  }
}

// As a program: the last line printed is the answer.
if (process.env.FORAGER_QUESTION !== undefined) {
  const { FORAGER_QUESTION: question, OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = process.env;
  console.log((await agent({ question, baseUrl, apiKey }))?.answer ?? "");
}
