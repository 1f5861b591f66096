// An MCP server without a library, whose tools do what servers should not. Run by itself it speaks
// over its standard input and output; `answerOddly` is the same for a server at an address.
// Options: { slowList: a file that its list waits for, quiet: it does not say that it tells of
// changes, effects: a file that it notes what it does in }.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ slowList?: string, slowStart?: string, quiet?: boolean, effects?: string, die?: () =>
 * void }} Options
 */
/** @typedef {{ id?: number, method?: string, params?: any, result?: any, error?: any }} Message */
/** @typedef {(message: object | string) => void} Send */

const tools = [
  'echo',
  'die',
  'hang',
  'wrong_id',
  'repeated',
  'half',
  'long',
  'progress',
  'grow',
  'ask',
  'choose',
  'visit',
  'ask_late',
  'note',
  'child',
  'huge',
  'once',
  'fails',
  'refuses',
  'grow_quietly',
  'last_words',
];

/** @param {string} name */
const toolOf = (name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  annotations: { readOnlyHint: name === 'echo', idempotentHint: name === 'once' },
});

/** @param {string} file */
async function until(file) {
  while (!existsSync(file)) await sleep(10);
}

/** @param {Options} options */
export function oddServer(options) {
  const extra = /** @type {string[]} */ ([]);
  const asked = new Map();
  const cancelled = new Map();
  let lists = 0;
  /** @param {object} entry */
  const note = (entry) => options.effects && appendFileSync(options.effects, `${JSON.stringify(entry)}\n`);

  /** @type {(message: Message, send: Send) => Promise<void>} */
  const call = async ({ id, params }, send) => {
    const say = (/** @type {string} */ text, more = {}) =>
      send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }], ...more } });
    const ask = (/** @type {string} */ method, /** @type {object} */ given) => {
      const own = `own-${asked.size}`;
      const answered = new Promise((resolve) => asked.set(own, resolve));
      send({ jsonrpc: '2.0', id: own, method, params: given });
      return answered;
    };
    note({ call: params.name, key: params._meta?.['perdure/idempotencyKey'] });
    switch (params.name) {
      case 'echo':
        return say(JSON.stringify(params));
      case 'die':
        return options.die ? options.die() : process.exit(3);
      case 'hang':
        return;
      case 'wrong_id':
        return send({ jsonrpc: '2.0', id: (id ?? 0) + 1_000, result: { content: [] } });
      case 'repeated':
        for (let n = 1; n <= 3; n += 1) say(`answer ${n}`);
        return;
      case 'half':
        return send(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"te`);
      case 'long':
        return send({
          jsonrpc: '2.0',
          result: { content: [{ type: 'text', text: 'x'.repeat(100 * 1024 * 1024) }] },
          id,
        });
      case 'huge':
        return say('line\n'.repeat(40_000));
      case 'progress':
        for (const text of ['first', 'second'])
          send({
            jsonrpc: '2.0',
            method: 'notifications/progress',
            params: { progressToken: params._meta.progressToken, progress: 1, total: 2, message: `the ${text} half` },
          });
        // Whoever has answered this has read what was before it.
        await ask('ping', {});
        return say('done');
      case 'grow':
        extra.push(`grown_${extra.length + 1}`);
        send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
        return say('grown');
      case 'grow_quietly':
        extra.push(`grown_${extra.length + 1}`);
        return say('grown');
      case 'fails':
        return say(params.arguments.text, { isError: true });
      case 'refuses':
        return send({ jsonrpc: '2.0', id, error: { code: -32_000, message: params.arguments.text } });
      case 'last_words':
        // By something that outlives the server.
        spawn('sh', ['-c', `printf '%s\\n' "$ANSWER"`], {
          stdio: ['ignore', 'inherit', 'ignore'],
          env: { ...process.env, ANSWER: JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }) },
        });
        return process.exit(0);
      case 'ask': {
        const answers = [];
        for (const method of ['elicitation/create', 'sampling/createMessage'])
          answers.push(await ask(method, { message: 'Who?', messages: [], maxTokens: 1 }));
        return say(JSON.stringify(answers));
      }
      case 'choose': {
        const colour = { type: 'string', enum: ['red', 'green'], description: 'Of the door' };
        const requestedSchema = { type: 'object', properties: { colour }, required: ['colour'] };
        const form = { mode: 'form', message: 'Which colour?', requestedSchema };
        return say(JSON.stringify(await ask('elicitation/create', form)));
      }
      case 'visit': {
        const visit = { mode: 'url', message: 'Sign in.', elicitationId: 'e-1', url: 'https://shop.example/in?x=1' };
        return say(JSON.stringify(await ask('elicitation/create', visit)));
      }
      case 'ask_late': {
        // Once it was cancelled.
        await new Promise((resolve) => cancelled.set(id, resolve));
        const requestedSchema = { type: 'object', properties: {} };
        return note({ answered: await ask('elicitation/create', { message: 'Late?', requestedSchema }) });
      }
      case 'once':
        // Its first call is never answered, whoever makes it.
        if (existsSync(`${options.effects}.once`)) return say('answered at last');
        return appendFileSync(`${options.effects}.once`, '');
      case 'child': {
        const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
        return say(String(child.pid));
      }
      default:
        return say(`noted ${params.name}`);
    }
  };

  /** @type {(message: Message, send: Send) => Promise<void>} */
  return async (message, send) => {
    const { id, method } = message;
    if (method === 'initialize') {
      if (options.slowStart) await until(options.slowStart);
      send({
        jsonrpc: '2.0',
        id,
        result: {
          protocolVersion: message.params.protocolVersion,
          capabilities: { tools: options.quiet ? {} : { listChanged: true } },
          serverInfo: { name: 'odd', version: '1' },
          instructions: 'Use echo first.',
        },
      });
    } else if (method === 'tools/list') {
      lists += 1;
      if (options.slowList) await until(options.slowList);
      send({ jsonrpc: '2.0', id, result: { tools: [...tools, ...extra].map(toolOf), lists } });
    } else if (method === 'tools/call') await call(message, send);
    else if (method === 'notifications/cancelled') {
      note({ cancelled: message.params.requestId });
      cancelled.get(message.params.requestId)?.();
    } else if (method === undefined && asked.has(id)) asked.get(id)(message.result ?? message.error);
    else if (id !== undefined && method !== undefined) send({ jsonrpc: '2.0', id, result: {} });
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = JSON.parse(process.argv[2] ?? '{}');
  if (options.effects)
    appendFileSync(
      options.effects,
      `${JSON.stringify({ started: process.pid, env: process.env, cwd: process.cwd() })}\n`,
    );
  const answer = oddServer(options);
  /** @type {Send} */
  const send = (message) =>
    void process.stdout.write(typeof message === 'string' ? message : `${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin })
    .on('line', (line) => void answer(JSON.parse(line), send))
    .on('close', () => process.exit());
}
