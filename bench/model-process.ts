// The model of the bench, in a process of its own as a real one would be, and as fast as one can
// be: it answers at once, and looks at a request only to learn how many calls are in it, for what
// is measured is the loop. Asks each session for one tool a turn, `turns` times, then ends. An
// agent that a session started reads a file a few times, and answers. Arguments: tool name, input
// as JSON, turns, calls a turn, milliseconds before it answers. Prints its URL, and for each line
// of its standard input the milliseconds between each reply's end and the request that brought its
// outcome; ends with that input.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

/** Calls are numbered, and the last result in a request is of the last of them. */
const RESULT = '"tool_use_id":"toolu_';

/** What a session is asked for, and no agent: its own prompt is another. */
const SESSION = '"Begin."';

const AGENT_TURNS = 3;

const [tool = '', input = '{}', turns = '1', width = '1', answerMs = '0'] = process.argv.slice(2);

/** When the reply with this call, its turn's last, had been sent. */
const sentAt = new Map<number, number>();
const gaps: number[] = [];

const server = createServer((request, response) => {
  const cameAt = performance.now();
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => {
    const body = Buffer.concat(chunks);
    const callNumber = calls(body) + 1;
    const sent = sentAt.get(callNumber - 1);
    if (sent !== undefined) gaps.push(cameAt - sent);
    const last = callNumber - 1 + Number(width);
    response.once('finish', () => sentAt.set(last, performance.now()));
    const answer = (): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(sse(callNumber, body.includes(SESSION) ? turn(callNumber) : agentTurn(callNumber)));
    };
    if (answerMs === '0') answer();
    else setTimeout(answer, Number(answerMs));
  });
});

/** It looks from the end, so that a long conversation takes no longer than a short one. */
function calls(body: Buffer): number {
  const at = body.lastIndexOf(RESULT);
  if (at < 0) return 0;
  const from = at + RESULT.length;
  return Number.parseInt(body.toString('latin1', from, from + 10), 10);
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
const asking = createInterface(process.stdin);
asking.on('line', () => process.stdout.write(`${JSON.stringify(gaps.splice(0))}\n`));
asking.once('close', () => process.exit(0));

type Block = { readonly start: object; readonly delta: object };

/** `n`: of its first call. */
function turn(n: number): readonly Block[] {
  if (n > Number(turns) * Number(width)) return [words('Done.')];
  const toolUses = Array.from({ length: Number(width) }, (_, at) =>
    call(n + at, tool, input.replaceAll('%', `${n + at}`)),
  );
  return [words('Next.'), ...toolUses];
}

function agentTurn(n: number): readonly Block[] {
  return n > AGENT_TURNS ? [words('Done.')] : [words('Next.'), call(n, 'read', '{"path":"small.txt"}')];
}

function call(n: number, name: string, json: string): Block {
  const start = { type: 'tool_use', id: `toolu_${n}`, name, input: {} };
  return { start, delta: { type: 'input_json_delta', partial_json: json } };
}

function words(text: string): Block {
  return { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text } };
}

function sse(callNumber: number, blocks: readonly Block[]): string {
  const usage = { input_tokens: 10, output_tokens: 10 };
  const message = {
    id: `msg_${callNumber}`,
    type: 'message',
    role: 'assistant',
    model: 'bench',
    content: [],
    stop_reason: null,
    usage,
  };
  const stop = blocks.length > 1 ? 'tool_use' : 'end_turn';
  const events = [
    { type: 'message_start', message },
    ...blocks.flatMap(({ start, delta }, index) => [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 10 } },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
