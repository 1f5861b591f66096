// Reads which files a person ignores in all repositories, as git does: the file of
// `core.excludesFile` in their own configuration or that of the machine, else `git/ignore` in their
// folder of configurations. Whether case counts in them, `core.ignoreCase` says there, too.
// Configurations of workspaces have no say.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { pipePlace } from '../../system/process/pipes.ts';
import { runProgram } from '../../system/process/spawn-piped.ts';
import { codeOf, onOneLine } from '../../system/text.ts';
import type { PersonalSettings } from '../../store/snapshots/repository-rules.ts';
import type { Sandbox } from '../../tools/sandbox.ts';

type PersonalOptions = {
  readonly sandbox: Pick<Sandbox, 'programs'>;
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** The home folder of the person. */
  readonly home: string;
};

/** A longer file counts up to here, whole lines only. */
const MOST_BYTES = 64 * 1024;
const LONGEST_MS = 10_000;
/** The exit status of `git config` for a value that is not set. */
const NOT_SET = 1;
const GIT_VARIABLES = ['XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM'];

type Found = { readonly path: string; readonly ignoresCase: boolean };
type GitSetting = readonly [key: string, type: 'path' | 'bool'];

export class PersonalRules {
  readonly #options: PersonalOptions;
  #found: Promise<Found> | undefined;

  constructor(options: PersonalOptions) {
    this.#options = options;
  }

  /**
   * Returns the text of the file as latin1, empty without one. The configuration is read once.
   * Rejects with git's words where it cannot be read: git works nowhere then.
   */
  async read(): Promise<PersonalSettings> {
    this.#found ??= this.#find();
    const { path, ignoresCase } = await this.#found.catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return { rules: await readRules(path), ignoresCase };
  }

  async #find(): Promise<Found> {
    const { env, home } = this.#options;
    const settings = [this.#askAll('core.excludesFile', 'path'), this.#askAll('core.ignoreCase', 'bool')] as const;
    const [path, ignoresCase] = await Promise.all(settings);
    const usual = join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'git', 'ignore');
    return { path: path ?? usual, ignoresCase: ignoresCase === 'true' };
  }

  async #askAll(...setting: GitSetting): Promise<string | null> {
    return (await this.#ask('--global', ...setting)) ?? (await this.#ask('--system', ...setting));
  }

  /** Returns null where a configuration does not say it. */
  async #ask(scope: '--global' | '--system', key: string, type: string): Promise<string | null> {
    const { sandbox, dataDir, env, home } = this.#options;
    const { programs } = sandbox;
    const own = Object.fromEntries(
      GIT_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
    );
    const argv = [programs.at('git'), 'config', scope, '--includes', `--type=${type}`, '--get', key];
    const { cut, exit, stdout, stderr } = await runProgram(argv, {
      env: { ...programs.environment(), HOME: home, ...own },
      cwd: '/',
      pipes: pipePlace(programs, dataDir),
      timeoutMs: LONGEST_MS,
      mostOutput: MOST_BYTES,
      encoding: 'utf8',
    });
    if (exit.code === NOT_SET) return null;
    if (exit.code === 0) return stdout.replace(/\n$/, '');
    throw new Error(`git cannot read its configuration: ${onOneLine(stderr.trim()) || cut || `status ${exit.code}`}`);
  }
}

/** Reads the text of a file of rules; empty without one. */
async function readRules(path: string): Promise<string> {
  // Git looks for it in each repository: a workspace would choose what the person ignores.
  if (!isAbsolute(path)) return '';
  try {
    if (!(await stat(path)).isFile()) return '';
    const parts: Buffer[] = [];
    for await (const part of createReadStream(path, { end: MOST_BYTES })) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString('latin1');
    return text.length > MOST_BYTES ? text.slice(0, text.lastIndexOf('\n') + 1) : text;
  } catch (error) {
    // Git passes over one that it cannot read, too.
    if (codeOf(error) !== undefined) return '';
    throw error;
  }
}
