// The bash tool: a command in the workspace, held by the sandbox, ended with all its processes, its
// output bounded.
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { throttle } from '../../system/async.ts';
import {
  callIdOf,
  childEnvironment,
  type GitSettings,
  withGitSettings,
  TOOLCHAIN_NAMES,
} from '../../system/process/environment.ts';
import { killTree } from '../../system/process/kill-tree.ts';
import { isInReach, isInside, type Reach, realOf } from '../../system/process/places.ts';
import { describeMissingVariables, describeSandboxCauses } from './shell/sandbox-cause.ts';
import { listKeyAgentSockets, SSH_SOCKET } from './shell/key-agents.ts';
import { type ProcessTree, spawnTree } from '../../system/process/spawn-tree.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { SPAWNER_GONE } from '../../system/process/spawner.ts';
import {
  defineTool,
  type JudgeContext,
  type Risk,
  type Tool,
  type ToolContext,
  ToolFailure,
  type ToolOutput,
} from '../tool.ts';
import { createBoundedOutput, describeResult, superviseTree } from './shell/output.ts';
import { createTerminalText, renderTerminal } from './files/terminal-text.ts';
import { describeStarted } from './shell/background-words.ts';
import { describeGoneFolder, leadsOutOfWorkspace } from './files/confine.ts';
import type { BuiltinOptions } from './files/options.ts';
import { showSessionFiles, withUploads } from './files/session-paths.ts';
import { whyGitMayDoMore } from './shell/git.ts';
import { KeptCommand, type ShellStates } from './shell/kept-shell.ts';
import { parseShell } from './shell/parse-shell.ts';
import { judgeCommands, judgeParsed, judgeShell, type ShellJudgement } from './shell/read-only-shell.ts';
import type { SimpleCommand } from '../shell-command.ts';
import { isAbsolute } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNeverBuilt, MOST_BUILDS } from '../../system/process/bwrap.ts';
import { childrenOf, programName } from '../../system/process/proc.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** Linux takes 128 KiB in one argument. */
const MAX_COMMAND_BYTES = 100_000;
const PROGRESS_MS = 250;
const PROGRESS_BYTES = 2_000;

/**
 * Chromium keeps a profile even of a headless run: a folder that the sandbox makes for it alone.
 */
const BROWSER_PLACES = { CHROME_CONFIG_HOME: '/run/chromium' };

const inputSchema = z.strictObject({
  command: z.string().min(1).describe('The command, for bash'),
  timeout: z
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe(`Milliseconds until it is ended, ${DEFAULT_TIMEOUT_MS} if absent, at most ${MAX_TIMEOUT_MS}`),
  background: z
    .boolean()
    .optional()
    .describe('Whether it goes on beside you, without a time limit: the answer is its id'),
  description: z.string().optional().describe('What it is for, in a few words, for people who watch'),
});

type BashInput = z.infer<typeof inputSchema>;

/** `states`: a command begins with the folder and variables that the last one left (G51). */
export function createBashTool(options: BuiltinOptions, states?: ShellStates): Tool {
  const parse = createParser();
  const judge = (input: BashInput, context: JudgeContext): ShellJudgement =>
    judgeParsed(parse(input), withUploads(context), context.dir);
  const riskOf = (input: BashInput, context: JudgeContext): Risk => {
    const verdict = judge(input, context);
    return verdict.readOnly && whyGitIsDoubted(verdict.gitIn, context) === undefined ? 'read' : 'execute';
  };
  return defineTool({
    name: 'bash',
    description:
      'Runs a bash command in the working directory and returns its output, errors included, in order. Each call is a new shell: ' +
      'cd and variables do not last until the next. There is no input to read from. Processes left in the background are ended ' +
      'with the call: for a server or a long build give background, and `bash_output` and `bash_stop` its id. Prefer `read`, `glob` and `grep` for looking at files.',
    inputSchema,
    risk: riskOf,
    // A command in the background outlives an attempt that may be dropped.
    safe: (input, context) =>
      !input.background && riskOf(input, context) === 'read' && !(states && changesFolder(parse(input))),
    recovery: 'report',
    // Said before anybody is asked about the call.
    validate: async ({ command, background, timeout }) =>
      describeRefusal(options) ??
      (background && timeout !== undefined ? 'A command in the background has no timeout.' : checkCommand(command)),
    canUse: (input, context) => {
      const verdict = judge(input, context);
      if (!verdict.readOnly) return undefined;
      if (leadsOutOfWorkspace(context, verdict.paths, options.dataDir)) return { kind: 'ask' };
      const why = whyGitIsDoubted(verdict.gitIn, context);
      return why === undefined ? undefined : { kind: 'ask', why, unlessAllowed: true };
    },
    subject: (input, context) => ({
      kind: 'command',
      text: input.command,
      commands: parse(input),
      readsOnly: (commands) => {
        const verdict = judgeCommands(commands, withUploads(context), context.dir);
        // In a list with commands that change things git has no environment that keeps it to
        // reading: a rule must name it.
        return (
          verdict.readOnly &&
          verdict.gitIn.length === 0 &&
          !leadsOutOfWorkspace(context, verdict.paths, options.dataDir)
        );
      },
    }),
    call: (input, context) =>
      input.background ? runInBackground(input, context, options) : runInForeground(input, context, options, states),
  });
}

const changesFolder = (commands: readonly SimpleCommand[] | null): boolean =>
  commands?.some(({ words }) => words[0]?.text === 'cd') === true;

/** Parses the text of each input once: risk, rules and subject all ask about the same input. */
function createParser(): (input: BashInput) => readonly SimpleCommand[] | null {
  const parsed = new WeakMap<BashInput, { readonly commands: readonly SimpleCommand[] | null }>();
  return (input) => {
    const { commands } = parsed.get(input) ?? { commands: parseShell(input.command) };
    parsed.set(input, { commands });
    return commands;
  };
}

function whyGitIsDoubted(folders: readonly string[], context: JudgeContext): string | undefined {
  for (const folder of folders) {
    const why = whyGitMayDoMore(folder, context);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Returns the sentence that refuses every command where nothing confines them. */
function describeRefusal({ sandbox: { kind, refusal }, offline }: BuiltinOptions): string | undefined {
  if (refusal !== null) return `Not run: ${refusal}.`;
  if (!offline || kind === 'bwrap') return undefined;
  return 'Not run: this session has no network, and only bubblewrap keeps commands from one: install it.';
}

function checkCommand(command: string): string | undefined {
  if (command.includes('\0')) return 'The command holds a NUL character: leave it out.';
  if (Buffer.byteLength(command) <= MAX_COMMAND_BYTES) return undefined;
  return `The command is longer than ${MAX_COMMAND_BYTES} bytes: write it to a file and run that.`;
}

async function runInForeground(
  input: BashInput,
  context: ToolContext,
  options: BuiltinOptions,
  states: ShellStates | undefined,
): Promise<ToolOutput> {
  const id = callIdOf(context.idempotencyKey);
  const shell = states && keepShell(input.command, context, { states, bash: options.sandbox.programs.at('bash') });
  const marked = { command: input.command, mark: id, shell };
  const output = createBoundedOutput();
  const terminal = createTerminalText(output.add);
  // Watchers see the end of the output so far: that something happens, not all of it.
  const progress = throttle(PROGRESS_MS, (bytes: Uint8Array) =>
    context.progress(renderTerminal(bytes.subarray(-PROGRESS_BYTES))),
  );
  const onOutput = (bytes: Uint8Array): void => {
    terminal.write(bytes);
    progress(bytes);
  };
  const reader = shell?.reader(onOutput);
  const tree = await startAnnounced(marked, context, options, reader?.add ?? onOutput);
  const timeoutMs = input.timeout ?? DEFAULT_TIMEOUT_MS;
  const end = await superviseTree(tree, {
    callId: id,
    hasPidNamespace: options.sandbox.kind !== 'group',
    signal: context.signal,
    timeoutMs,
  });
  reader?.end();
  terminal.end();
  const result = describeResult(input.command, timeoutMs, end, output.ends());
  const noted = addNotes(result, marked, context, options);
  return states && shell?.endedIn ? carryFolder(noted, shell.endedIn, context, states) : noted;
}

/** A command that only reads gets no variables: none may make another command of it. */
function keepShell(
  command: string,
  { session, ...context }: ToolContext,
  { states, bash }: { readonly states: ShellStates; readonly bash: string },
): KeptCommand {
  const { readOnly } = judgeShell(command, withUploads(context), context.dir);
  return new KeptCommand(bash, command, readOnly || session === undefined ? undefined : states.open(session));
}

/**
 * The next command begins where this one ended, if that is a folder of the workspace (L38), in the
 * next run as well.
 */
function carryFolder(
  result: ToolOutput,
  folder: string,
  { cwd, dir, session }: ToolContext,
  states: ShellStates,
): ToolOutput {
  if (folder === dir) return result;
  const isThere = isInside(cwd, folder) && realOf(folder) === folder;
  if (isThere && session !== undefined) states.noteFolder(session, folder);
  if (isThere) return { ...result, modify: { cwd: folder } };
  const why = isInside(cwd, folder) ? 'is gone' : 'is outside the workspace';
  const note = `(the next command begins in ${dir}: ${folder} ${why})`;
  return { ...result, content: [result.content, note].join('\n').trimStart() };
}

/**
 * Adds reasons that a command may have failed for: a folder of the run that is gone, what the
 * sandbox hides, a variable that it did not get.
 */
function addNotes(
  result: ToolOutput,
  marked: MarkedCommand,
  context: ToolContext,
  options: BuiltinOptions,
): ToolOutput {
  const { folders = [] } = context;
  const missing = folders
    .filter((folder) => realOf(folder) !== folder)
    .map((folder) => `(${describeGoneFolder(folder)})`);
  const notes = [
    ...missing,
    ...(result.isError === true ? describeCauses(result.content, marked, context, options) : []),
  ];
  return notes.length === 0 ? result : { ...result, content: [result.content, ...notes].join('\n').trimStart() };
}

function describeCauses(
  output: string,
  marked: MarkedCommand,
  context: ToolContext,
  options: BuiltinOptions,
): readonly string[] {
  const command = holdCommand(marked, context, options);
  const variables = describeMissingVariables(output, command);
  const causes = options.sandbox.kind === 'bwrap' ? describeSandboxCauses(output, command) : [];
  return variables === undefined ? causes : [...causes, variables];
}

type MarkedCommand = {
  readonly command: string;
  readonly mark: string;
  readonly shell?: KeptCommand | undefined;
};

async function startAnnounced(
  marked: MarkedCommand,
  context: ToolContext,
  options: BuiltinOptions,
  onOutput: (bytes: Uint8Array) => void,
): Promise<ProcessTree> {
  const start: StartOnce = async (onBytes) => {
    const started = await startTree(marked, context, options, onBytes);
    await announceOrKill(started.tree, marked.mark, context);
    return started;
  };
  if (options.sandbox.kind !== 'bwrap') return (await start(onOutput)).tree;
  return await startBuilt(start, onOutput, context.signal);
}

/** Announces a process. One that no later attempt could find is ended. */
async function announceOrKill(tree: ProcessTree, mark: string, context: ToolContext): Promise<void> {
  try {
    await context.spawned(tree.leader);
  } catch (error) {
    await killTree({ callId: mark, leader: tree.leader, fresh: true }, { graceMs: 0 });
    tree.stopReading();
    throw error;
  }
}

/** Starts a command in the background (L84). */
async function runInBackground(
  { command }: BashInput,
  context: ToolContext,
  options: BuiltinOptions,
): Promise<ToolOutput> {
  const { session, sessionIsOver: isOver } = context;
  if (options.background === undefined || session === undefined)
    throw new ToolFailure('No command can go on in the background here: call it without background.');
  // It may run for long, and nobody waits for its first word.
  const own = { ...options, prepared: undefined };
  const { id } = await options.background.start({
    session,
    command,
    isOver,
    spawn: (mark, onOutput) => startAnnounced({ command, mark }, context, own, onOutput),
  });
  return { content: describeStarted(id) };
}

/** Starts a command. `mark` stands in the environment of its processes. */
async function startTree(
  marked: MarkedCommand,
  context: ToolContext,
  options: BuiltinOptions,
  onOutput: (bytes: Uint8Array) => void,
): ReturnType<StartOnce> {
  const { cwd, folders, dir, fence } = context;
  const { sandbox, dataDir, prepared, offline } = options;
  const { args = ['-c', marked.command], folder } = marked.shell ?? {};
  const refused = describeRefusal(options);
  if (refused !== undefined) throw new ToolFailure(refused);
  const { readOnly, env, sockets } = holdCommand(marked, context, options);
  const shell = [sandbox.programs.at('bash'), '--norc', '--noprofile', ...args];
  const shown = await showSessionFiles(context, options);
  const argv = sandbox.wrap(shell, {
    cwd,
    shown,
    folders: folder === undefined ? folders : [...(folders ?? []), folder],
    dir,
    dataDir,
    readOnly,
    ...(offline && { offline }),
    sockets,
  });
  try {
    const { signal } = context;
    const pipes = pipePlace(sandbox.programs, dataDir);
    const spawning = { cwd: dir, pipes, env, before: fence, signal, onOutput };
    const sandboxArgs = argv.slice(0, argv.length - shell.length);
    return { tree: await (prepared?.spawn(sandboxArgs, shell, spawning) ?? spawnTree(argv, spawning)), argv };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === SPAWNER_GONE) await killTree({ callId: marked.mark }, { graceMs: 0 });
    const why = existsSync(dir) ? (error as Error).message : `the folder ${dir} is not there`;
    throw new ToolFailure(`The command could not be started: ${why}.`, { cause: error });
  }
}

/** Decides what a command may do and reach, by what it was judged to be. */
function holdCommand(
  { command, mark }: MarkedCommand,
  context: ToolContext,
  { sandbox, dataDir, passEnv = [], keyAgents = [], sockets: named = [] }: BuiltinOptions,
) {
  const { cwd, folders, dir, env: own, traceparent } = context;
  const worker = process.env;
  const { readOnly } = judgeShell(command, withUploads(context), dir);
  const sockets = [...listKeyAgentSockets(keyAgents, worker), ...named.map((path) => ({ path }))];
  // A command that was judged to only read names no variable, and runs unasked: no variable may
  // make another command of it.
  const further = keyAgents.includes('ssh') ? [...TOOLCHAIN_NAMES, SSH_SOCKET] : TOOLCHAIN_NAMES;
  const pass = readOnly ? passEnv : [...passEnv, ...further];
  const set = { ...(sandbox.kind === 'bwrap' && BROWSER_PLACES), ...own };
  const child = childEnvironment(worker, { cwd: dir, callId: mark, pass, set: readOnly ? {} : set });
  const traced = { ...child, ...(traceparent !== undefined && { TRACEPARENT: traceparent }) };
  const env = readOnly ? buildReadOnlyEnvironment(traced, { cwd, folders }) : buildChangingEnvironment(traced);
  return { command, readOnly, env, worker, sockets, dataDir };
}

// Keeps a command to what it was judged to be, because the folder it works in is not trusted. A
// command that only reads finds no program in that folder, nor in its git configuration where that
// can be overruled; git.ts looks where it cannot.
type Environment = Readonly<Record<string, string>>;

const READING: GitSettings = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
];

/**
 * In GBK, Big5 or Shift JIS a backslash may be half of a character: the shell must cut a command as
 * it was cut to be judged.
 */
const LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * Builds the environment of a command that does more than read. A rule that allows `git commit`
 * means the existing repository, with its hooks and filters, and the existing PATH.
 */
function buildChangingEnvironment(base: Environment): Environment {
  return withGitSettings({ ...base, LC_ALL: LOCALE });
}

function buildReadOnlyEnvironment(base: Environment, reach: Reach): Environment {
  const path = (base['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder) && !isInReach(reach, folder));
  const reading = {
    ...base,
    LC_ALL: LOCALE,
    PATH: path.join(':'),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
  };
  return withGitSettings(reading, READING);
}

// Starts a command, and once more where its sandbox was not built: a socket that was to be masked
// had gone, and nothing was run.
type OnOutput = (bytes: Uint8Array) => void;

type StartOnce = (onOutput: OnOutput) => Promise<{ readonly tree: ProcessTree; readonly argv: readonly string[] }>;

/**
 * A sandbox that is not built says so at once, unless the machine is busy: a command that is silent
 * for so long runs, unless all of its processes are still those that build.
 */
const SILENT_MS = 200;
const MOST_LOOKS = 50;
/** The status of a sandbox that was not built. */
const NOT_BUILT = 1;
const DRAIN_MS = 200;
const BEGINNING = Buffer.from("bwrap: Can't ");

/** Passes on what a command prints, and drops the complaint of a sandbox that ran none. */
async function startBuilt(start: StartOnce, onOutput: OnOutput, signal?: AbortSignal): Promise<ProcessTree> {
  for (let count = 1; ; count += 1) {
    const early = new EarlyOutput(onOutput);
    const { tree, argv } = await start((bytes) => early.add(bytes));
    const exited = tree.exit.then(async ({ code }) => {
      if (code === NOT_BUILT) await Promise.race([tree.drained, sleep(DRAIN_MS)]);
      return code === NOT_BUILT;
    });
    const isOver = await Promise.race([exited, early.isOther.then(() => false), waitSilent(tree.leader.pid, signal)]);
    if (count < MOST_BUILDS && isOver && isNeverBuilt(early.text(), argv)) continue;
    early.pass();
    return tree;
  }
}

/** Resolves with false, also when the command is to be stopped. */
async function waitSilent(pid: number, signal: AbortSignal | undefined): Promise<boolean> {
  for (let count = 0; count < MOST_LOOKS; count += 1) {
    await sleep(SILENT_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
    if (signal?.aborted === true || !isBeingBuilt(pid)) return false;
  }
  return false;
}

const isBeingBuilt = (pid: number): boolean =>
  programName(pid) === 'bwrap' && childrenOf(pid)?.every(isBeingBuilt) === true;

class EarlyOutput {
  /** Resolves at the first output that isn't a complaint of the sandbox. */
  readonly isOther: Promise<void>;
  readonly #onOutput: OnOutput;
  readonly #pending: Buffer[] = [];
  #isPassing = false;
  #tellOther: () => void = () => undefined;

  constructor(onOutput: OnOutput) {
    this.#onOutput = onOutput;
    this.isOther = new Promise((resolve) => (this.#tellOther = resolve));
  }

  add(bytes: Uint8Array): void {
    if (this.#isPassing) return this.#onOutput(bytes);
    this.#pending.push(Buffer.from(bytes));
    const output = Buffer.concat(this.#pending);
    const length = Math.min(output.length, BEGINNING.length);
    if (!output.subarray(0, length).equals(BEGINNING.subarray(0, length))) this.#tellOther();
  }

  text(): string {
    return Buffer.concat(this.#pending).toString('utf8');
  }

  pass(): void {
    this.#isPassing = true;
    for (const bytes of this.#pending.splice(0)) this.#onOutput(bytes);
  }
}
