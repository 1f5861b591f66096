// Walks in a copy of a given repository, however large: random turns, then rewinds to several points
// and back, held against copies of the folder that were kept at each of them.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../support/random.ts';
import { drawChange, TOOLS } from './changes.ts';
import type { Product } from './product.ts';
import { withTools } from './walk.ts';

export type RepositoryWalk = {
  readonly product: Product;
  readonly folder: string;
  readonly repository: string;
  readonly random: Random;
  readonly turns: number;
  readonly without: ReadonlySet<string>;
  readonly say: (line: string) => void;
};

/** Everything outside of `.git`: kind, permissions, path, where links lead, and contents. */
const LIST = `export LC_ALL=C
find . -name .git -prune -o -printf '%y %#m %p %l\\0' | sort -z
find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 -r sha1sum -z`;
/** What git has of its own. Nothing is to change it but git. */
const GIT = `find . -path '*/.git/*' -type f -print0 | sort -z | xargs -0 -r sha1sum -z`;

/** Returns sentences about what was wrong. */
export async function walkInRepository(asked: RepositoryWalk): Promise<readonly string[]> {
  const { product, folder, repository, random, turns, without, say } = asked;
  const [workspace, problems] = [join(folder, 'workspace'), [] as string[]];
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'tools.sh'), TOOLS);
  requireDone(spawnSync('cp', ['-a', '--reflink=auto', repository, workspace], { encoding: 'utf8' }));
  const points: { readonly message: string; readonly listed: string }[] = [];
  let session: string | null = null;
  for (let turn = 0; turn < turns; turn += 1) {
    const listed = await digest(workspace, LIST);
    const script = Array.from({ length: 4 }, () => drawForTree(random, without)).join('\n');
    const sent = await takeTurn(product, session, workspace, { key: `repository${turn}`, script });
    session = sent.session;
    points.push({ message: sent.messageId, listed });
    say(`turn ${turn + 1}: ${Math.round(sent.ms)} ms`);
  }
  if (session === null) return ['no turn was taken'];
  const [end, git] = [await digest(workspace, LIST), await digest(workspace, GIT)];
  for (const { message, listed } of points.toReversed()) {
    const began = performance.now();
    const gone = await product.run('rewind', session, '--files', '--to', message);
    say(`back to ${message}: ${Math.round(performance.now() - began)} ms`);
    if (gone.status !== 0) problems.push(`it was refused: ${gone.err}`);
    else if ((await digest(workspace, LIST)) !== listed) problems.push(`the files before ${message} are others`);
    const undone = await product.run('rewind', session, '--undo');
    if (undone.status !== 0) problems.push(`the undo was refused: ${undone.err}`);
    else if ((await digest(workspace, LIST)) !== end)
      problems.push(`after the undo of ${message} the files are others`);
  }
  if ((await digest(workspace, GIT)) !== git) problems.push('what is in .git has changed');
  return problems;
}

/** Changes of files that are there, beside those of every walk. */
function drawForTree(random: Random, without: ReadonlySet<string>): string {
  const nth = `$(git ls-files -z 2>/dev/null | tr '\\0' '\\n' | sed -n ${1 + random.nat(2_000)}p)`;
  return random.pick([
    `f="${nth}"; [ -f "$f" ] && [ ! -L "$f" ] && echo more >> "$f" || :`,
    `f="${nth}"; [ -f "$f" ] && rm -f -- "$f" || :`,
    `f="${nth}"; [ -f "$f" ] && [ ! -L "$f" ] && chmod 755 -- "$f" || :`,
    `f="${nth}"; [ -n "$f" ] && mv -- "$(dirname -- "$f")" moved-${random.nat(1e6)} 2>/dev/null || :`,
    drawChange(random, without),
  ]);
}

type Asked = { readonly key: string; readonly script: string };

async function takeTurn(product: Product, session: string | null, cwd: string, { key, script }: Asked) {
  product.answers.set(key, ({ step }) =>
    Promise.resolve({
      content: [
        step === 0
          ? { type: 'tool_use', name: 'bash', input: { command: withTools(script) } }
          : { type: 'text', text: 'Done.' },
      ],
    }),
  );
  const [began, text] = [performance.now(), `Do it. TURN=${key}`];
  const { sessions } = product;
  const sent = session === null ? await sessions.start(text, { cwd }) : await sessions.send(session, text);
  for await (const event of sessions.follow(sent.session, { messageId: sent.messageId }))
    if (event.type === 'result' && event.reason !== 'completed') throw new Error(`a turn ended with ${event.reason}`);
  return { ...sent, ms: performance.now() - began };
}

async function digest(cwd: string, script: string): Promise<string> {
  const hash = createHash('sha1');
  const child = spawn('bash', ['-c', script], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const bytes of child.stdout) hash.update(bytes as Buffer);
  return hash.digest('hex');
}

function requireDone({ status, stderr }: { readonly status: number | null; readonly stderr: string }): void {
  if (status !== 0) throw new Error(stderr);
}
