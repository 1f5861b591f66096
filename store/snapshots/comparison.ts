// Keeps a git process that compares pairs of trees: starting one takes longer than a comparison.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { gitArguments, shadowEnvironment, type ShadowPlace } from './shadow.ts';

const DIFF = ['diff-tree', '--stdin', '-r', '-z', '--raw', '--numstat', '--no-renames'];
/** Git prints a line that names no trees as it is, and all before it. */
const END = 'end\n';

export class Comparison {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #errorText = '';
  #isOver = false;

  constructor(git: string, place: ShadowPlace) {
    const [program = '', ...args] = gitArguments(git, place, DIFF);
    const env = { ...process.env, ...shadowEnvironment() };
    this.#child = spawn(program, args, { cwd: place.own, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdout.setEncoding('latin1');
    this.#child.stderr.setEncoding('latin1').on('data', (text: string) => (this.#errorText += text));
    // The comparison says how it ended.
    this.#child.stdin.on('error', () => undefined);
    this.#child.once('close', () => (this.#isOver = true)).once('error', () => (this.#isOver = true));
    this.#child.unref();
  }

  /** Git may have been killed since it was last asked. */
  get isOver(): boolean {
    return this.#isOver || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  compare(from: string, to: string): Promise<string> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      let printed = '';
      const done = (): void => {
        child.stdout.off('data', read);
        child.off('close', fail).off('error', fail);
      };
      const read = (text: string): void => {
        printed += text;
        if (!printed.endsWith(END)) return;
        done();
        resolve(printed.slice(printed.indexOf('\n') + 1, -END.length));
      };
      const fail = (): void => {
        done();
        reject(new Error(this.#errorText.trim() || 'git ended while it compared two snapshots'));
      };
      child.stdout.on('data', read);
      child.once('close', fail).once('error', fail);
      child.stdin.write(`${from} ${to}\n${END}`);
    });
  }

  close(): void {
    this.#child.stdin.end();
  }
}
