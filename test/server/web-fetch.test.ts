// web_fetch in a session: the answer of the small model costs what the run pays, within its limits.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { outcomes, spentIn, tokensOf } from '../support/agents.ts';
import { harness } from '../support/harness.ts';

const isQuestion = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');
const worker = { config: { webFetch: { privateHosts: ['127.0.0.1'] } } };
const answer = reply('Forty-two.', { usage: { input_tokens: 100_000, output_tokens: 7 } });

async function page(): Promise<string> {
  const server = createServer(
    (_request, response) => void response.setHeader('content-type', 'text/html').end('<p>It is 42.'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const asking = (url: string) => toolUse('web_fetch', { url, question: 'How many?' });

test('a question about a page is answered by the small model, once, and paid by the run (L86 L51)', async () => {
  const url = await page();
  const script = (request: ParsedRequest): Reply => {
    if (isQuestion(request)) return answer;
    return request.messages.length > 1 ? reply('Done.') : reply([asking(url), toolUse('web_fetch', { url })]);
  };
  // With each iteration a handover, so that what it cost is carried.
  const h = await harness({ script, worker, handover: { events: 10_000, signals: 10_000, iterations: 1 } });
  const session = await h.open('How many?');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [first, second] = (await outcomes(session)).map(({ content }) => content);
  expect(first).toMatch(/^A small model read (.|\n)*Forty-two\.$/);
  expect(second).toMatch(/^<web_page (.|\n)*It is 42\.\n<\/web_page>$/);
  const question = h.bodies().filter(isQuestion);
  expect(question).toHaveLength(1);
  expect(JSON.stringify(question)).toContain('It is 42.');
  const others = (await session.entries()).flatMap((entry) => (entry.kind === 'reply' ? [tokensOf(entry.spend)] : []));
  expect(tokensOf(spentIn(await session.entries()))).toBe(others.reduce((a, b) => a + b, 100_007));
});

test('questions stop at the budget: the rest get the page, and the run ends (L86 L51)', async () => {
  const url = await page();
  const script = (request: ParsedRequest): Reply => (isQuestion(request) ? answer : reply([asking(url), asking(url)]));
  const h = await harness({ script, worker });
  const session = await h.open('How many?', { maxTokens: 60_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'budget_exceeded' } });
  expect(h.bodies().filter(isQuestion)).toHaveLength(1);
  expect((await outcomes(session)).map(({ content }) => content)[1]).toMatch(
    /^The small model gave no answer \(the budget of the run is spent\): this is the page itself\./,
  );
});
