// The configuration of workers that are killed while a tool runs whose start can be checked, or
// asked about (L40), or that the workflow carries out (L62). Runs the built product.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineTool } from '../../dist/tools/tool.js';

const add = (cwd, file, line) => appendFileSync(join(cwd, file), `${line}\n`);

const isThere = async (path) => {
  while (!existsSync(path)) await sleep(20);
};

/**
 * Its effect is a line with its key. It is begun with a file `answer`, or waits for one `go`,
 * before its effect or after it.
 */
function deliver(recovery, more) {
  return defineTool({
    name: `deliver_${recovery}`,
    description: 'Delivers.',
    inputSchema: z.strictObject({ hangs: z.enum(['before', 'after']) }),
    risk: 'external',
    recovery,
    ...more,
    async call({ hangs }, { cwd, idempotencyKey }) {
      const hang = existsSync(join(cwd, 'answer')) ? Promise.resolve() : isThere(join(cwd, 'go'));
      if (hangs === 'after') add(cwd, 'effects.log', idempotencyKey);
      add(cwd, 'starts.log', idempotencyKey);
      await hang;
      if (hangs === 'before') add(cwd, 'effects.log', idempotencyKey);
      return { content: 'Delivered.' };
    },
  });
}

async function verify(_input, { cwd, idempotencyKey }) {
  const path = join(cwd, 'effects.log');
  const done = existsSync(path) && readFileSync(path, 'utf8').includes(idempotencyKey);
  return done ? { kind: 'done', output: { content: 'It was delivered.' } } : { kind: 'not_done' };
}

/** An activity of a user's own worker does it. */
const errand = defineTool({
  name: 'errand',
  description: 'Runs an errand.',
  inputSchema: z.strictObject({ article: z.string() }),
  risk: 'external',
  activity: { name: 'deliver', taskQueue: 'users-errands', options: { startToCloseTimeout: '10 minutes' } },
});

/** People say how it ends. */
const inquire = defineTool({
  name: 'inquire',
  description: 'Inquires.',
  inputSchema: z.strictObject({}),
  risk: 'external',
  recovery: 'ask',
  asksPeople: true,
  async call(_input, { askPeople, signal }) {
    const answer = await askPeople({ why: 'it inquires', question: 'Which colour?' }, signal);
    return { content: answer.kind === 'answered' ? `They say ${answer.text}.` : 'Nobody says.' };
  },
});

/**
 * As an errand, beside others. It is begun with a file `answer`, or waits for one `go`, before it
 * is handed over.
 */
const chore = defineTool({
  name: 'chore',
  description: 'Does a chore.',
  inputSchema: z.strictObject({ article: z.string(), hangs: z.boolean().optional() }),
  risk: 'read',
  async validate({ article, hangs }, { cwd }) {
    add(cwd, 'judged.log', article);
    if (hangs && !existsSync(join(cwd, 'answer'))) await isThere(join(cwd, 'go'));
    return undefined;
  },
  activity: {
    name: 'deliver',
    taskQueue: 'users-chores',
    args: ({ article }) => [{ article }],
    options: { startToCloseTimeout: '10 minutes' },
  },
});

export default { tools: [inquire, deliver('verify', { verify }), deliver('ask'), errand, chore] };
