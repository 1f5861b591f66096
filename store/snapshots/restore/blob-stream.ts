// Reads the contents of a snapshot by one git that stays. They come in the order in which they are
// asked for, a piece at a time: a content need not fit into memory. Each is held against its hash.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { startObjectHash } from '../git-objects.ts';
import { parseTree } from '../listing.ts';
import { gitArguments, shadowEnvironment, type ShadowPlace } from '../shadow.ts';

type GitPlace = Pick<ShadowPlace, 'gitDir'>;

const LINE_END = 10;

export class BlobStream {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #pieces: AsyncIterator<Buffer>;
  #waiting: Buffer = Buffer.alloc(0);
  #errorText = '';

  constructor(git: string, place: GitPlace) {
    this.#child = spawnGit(git, place, ['cat-file', '--batch']);
    this.#child.stderr.on('data', (text: string) => (this.#errorText += text));
    this.#pieces = this.#child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Asks for objects, by names that git knows and that hold no line break. */
  ask(names: readonly string[]): void {
    if (names.length > 0) this.#child.stdin.write(`${names.join('\n')}\n`);
  }

  /** Returns the number of bytes of the next content. Throws for one that is missing. */
  async next(): Promise<{ readonly id: string; readonly size: number }> {
    const line = await this.#readLine();
    const [id = '', kind, size = ''] = line.split(' ');
    if (kind !== 'blob') throw new Error(`${id} of the snapshot is missing or damaged`);
    return { id, size: Number(size) };
  }

  /**
   * Hands on the bytes of a content. Throws at its end where they are not those of its hash: what
   * was made of them is of no use.
   */
  async *read({ id, size }: { readonly id: string; readonly size: number }): AsyncGenerator<Buffer> {
    const hash = startObjectHash('blob', size);
    for (let left = size; left > 0;) {
      if (this.#waiting.length === 0) await this.#readMore();
      const piece = this.#waiting.subarray(0, left);
      this.#waiting = this.#waiting.subarray(piece.length);
      left -= piece.length;
      hash.update(piece);
      yield piece;
    }
    if ((await this.#readLine()) !== '' || hash.digest('hex') !== id)
      throw new Error(`${id} of the snapshot is damaged`);
  }

  close(): void {
    this.#child.stdin.destroy();
    this.#child.kill();
  }

  async #readLine(): Promise<string> {
    for (;;) {
      const end = this.#waiting.indexOf(LINE_END);
      if (end >= 0) {
        const line = this.#waiting.toString('latin1', 0, end);
        this.#waiting = this.#waiting.subarray(end + 1);
        return line;
      }
      await this.#readMore();
    }
  }

  async #readMore(): Promise<void> {
    const { value, done } = await this.#pieces.next();
    if (done === true) throw new Error(this.#errorText.trim() || 'git ended while it read a snapshot');
    this.#waiting = this.#waiting.length === 0 ? value : Buffer.concat([this.#waiting, value]);
  }
}

/** A file of a snapshot: its mode as git writes it, and the hash of its content. */
export type TreeFile = { readonly mode: string; readonly id: string };

/** Lists the files of a tree by their paths, or what is right in it. Throws what git said. */
export async function listTree(
  git: string,
  place: GitPlace,
  tree: string,
  which: 'all' | 'not below' = 'all',
): Promise<ReadonlyMap<string, TreeFile>> {
  const how = [...(which === 'all' ? ['-r'] : []), '-z', '--full-tree', '--end-of-options'];
  const child = spawnGit(git, place, ['ls-tree', ...how, tree]);
  child.stdin.end();
  let [printed, errorText] = ['', ''];
  child.stdout.setEncoding('latin1').on('data', (text: string) => (printed += text));
  child.stderr.on('data', (text: string) => (errorText += text));
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(errorText.trim() || 'git ended while it listed a snapshot');
  return new Map(parseTree(printed).map(({ path, mode, id }) => [path, { mode, id }]));
}

function spawnGit(
  git: string,
  place: GitPlace,
  args: readonly string[],
): ChildProcessByStdio<Writable, Readable, Readable> {
  const [program = '', ...all] = gitArguments(git, place, args);
  const env = { ...process.env, ...shadowEnvironment() };
  const child = spawn(program, all, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stderr.setEncoding('utf8');
  // The reason is in its output and its exit.
  child.stdin.on('error', () => undefined);
  return child;
}
