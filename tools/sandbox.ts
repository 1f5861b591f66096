// Finds out once, by trying, how shell commands are held, best first. bubblewrap confines files and
// processes, unshare only processes, a process group neither; the start-up line names the kind.
// Where bubblewrap does not work, commands of agents are refused unless a person allows them.
import { existsSync } from 'node:fs';
import { bwrapArguments, holdArguments, type Confinement } from '../system/process/bwrap.ts';
import { FILTERED, keyringFilter } from '../system/process/keyring-filter.mjs';
import { findPlaces, type Places } from '../system/process/places.ts';
import { findPrograms, type Programs } from '../system/process/programs.ts';
import { runProgram } from '../system/process/spawn-piped.ts';
import { pipePlace } from '../system/process/pipes.ts';
import { reasonOf } from '../system/text.ts';

type SandboxKind = 'bwrap' | 'unshare' | 'group';

/** How commands of agents run. `unconfined`: a person has allowed it. */
export type CommandPolicy = 'confined' | 'refused' | 'unconfined';

export type Sandbox = {
  readonly kind: SandboxKind;
  /** One sentence for people. */
  readonly describe: string;
  /**
   * Why commands are refused here, and what to do: one sentence without its full stop. Null where
   * they run. Programs of Perdure itself run in any case.
   */
  readonly refusal: string | null;
  /** The helpers it was found with, which run outside it. */
  readonly programs: Programs;
  /** The paths that no agent changes, whatever its workspace holds. */
  readonly places: Places;
  /** Returns the arguments that run `argv` held. */
  wrap(argv: readonly string[], confinement: Confinement): readonly string[];
  /**
   * Returns the arguments that run a program of the configuration: its files are its own affair,
   * but for Perdure's data, and none of its processes outlives us.
   */
  hold(argv: readonly string[], dataDir?: string): readonly string[];
};

type ProbeOptions = {
  /** Requires a sandbox that confines files: without one, a sentence is thrown. */
  readonly require?: boolean;
  /** Lets commands run where nothing confines them, as a person has allowed. */
  readonly unconfined?: boolean;
  /** The kinds to try, in this order. Absent: all, best first. */
  readonly kinds?: readonly SandboxKind[];
  /** Absent: the programs of this process's environment. */
  readonly programs?: Programs;
  readonly places?: Places;
};

/** What a person has to know where commands run and files are not confined. */
const UNCONFINED =
  "commands aren't confined here, as you allowed: an agent that may run one can read Perdure's keys and approve its own calls. " +
  'Install bubblewrap, or deny bash';

const MAY_ALLOW =
  'let commands run unconfined with --unconfined, or with `sandbox: { unconfined: true }` in your own configuration';

export function commandPolicy({ kind, refusal }: Pick<Sandbox, 'kind' | 'refusal'>): CommandPolicy {
  if (refusal !== null) return 'refused';
  return kind === 'bwrap' ? 'confined' : 'unconfined';
}

/** Returns a line for people where agents' commands are refused or run unconfined, else null. */
export function commandNotice(sandbox: Pick<Sandbox, 'kind' | 'refusal'>): string | null {
  return sandbox.refusal ?? (sandbox.kind === 'bwrap' ? null : UNCONFINED);
}

type ProbeMeans = { readonly programs: Programs; readonly places: Places };

/**
 * The first process of a namespace ignores SIGTERM: a command there would run on after its children
 * were ended. So a shell is the first, one that prints nothing about the command's end.
 */
const FIRST_PROCESS = ['-c', 'exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); exit $?', 'sh'];
const NAMESPACE = ['--pid', '--fork', '--kill-child', '--mount-proc', '--'];

const PROBE_MS = 5_000;
const PROBE_OUTPUT = 64 * 1024;

export async function probeSandbox(options: ProbeOptions = {}): Promise<Sandbox> {
  const { programs = findPrograms(process.env), places = findPlaces(process.env) } = options;
  const kinds = options.require === true ? (['bwrap'] as const) : (options.kinds ?? ['bwrap', 'unshare', 'group']);
  const reasons: string[] = [];
  let why = 'it was not tried';
  for (const kind of kinds) {
    const found = await attemptKind(kind, { programs, places });
    if (typeof found !== 'string') return kind === 'bwrap' || options.unconfined ? found : refuse(found, why);
    if (kind === 'bwrap') why = found;
    reasons.push(`${kind}: ${found}`);
  }
  throw new Error(
    `A sandbox for shell commands is required, and none works here (${reasons.join('; ')}). ` +
      'Install bubblewrap and allow user namespaces, or do not require a sandbox.',
  );
}

/** Keeps the sandbox for programs of our own. `why` says what bubblewrap ended with. */
function refuse(sandbox: Sandbox, why: string): Sandbox {
  const refusal = `commands are refused here, because ${describeMissing(sandbox.programs.at('bwrap'), why)}, or ${MAY_ALLOW}`;
  return { ...sandbox, refusal, describe: `${refusal[0]?.toUpperCase()}${refusal.slice(1)}.` };
}

function describeMissing(bwrap: string, why: string): string {
  if (process.platform !== 'linux')
    return 'nothing confines them on this system: run the worker on Linux with bubblewrap';
  if (!existsSync(bwrap)) return 'bubblewrap, which confines them, is missing: install it';
  return `bubblewrap, which confines them, doesn't work (${why.replace(/, likely because .*/, '')}): ${findRemedy(why)}`;
}

function findRemedy(why: string): string {
  // Containers mask parts of /proc, and then the kernel mounts no other one.
  if (/mount proc/.test(why)) return 'unmask /proc';
  // As root bubblewrap uses its capabilities instead of a user namespace.
  return process.getuid?.() === 0
    ? 'run as another user than root, and allow user namespaces'
    : 'allow user namespaces';
}

/** Returns the sandbox, or why it does not work here. */
async function attemptKind(kind: SandboxKind, found: ProbeMeans): Promise<Sandbox | string> {
  if (kind === 'group') return createGroup(found);
  const candidates =
    kind === 'bwrap' ? listBwrapVariants(found) : listUnshareVariants().map((variant) => createUnshare(variant, found));
  let why = '';
  for (const sandbox of candidates) {
    const failure = await tryOut(sandbox);
    if (failure === null) return sandbox;
    why = failure;
  }
  return why;
}

/**
 * Returns null when it works. Every obstacle (not installed, not allowed, not this system) means
 * the same here: it does not.
 */
async function tryOut({ wrap, programs }: Sandbox): Promise<string | null> {
  const argv = wrap(['true'], { cwd: '/' });
  const where = { cwd: '/', env: programs.environment(), pipes: pipePlace(programs, undefined) };
  try {
    const { cut, exit, stderr } = await runProgram(argv, { ...where, timeoutMs: PROBE_MS, mostOutput: PROBE_OUTPUT });
    if (cut === undefined && exit.code === 0) return null;
    return stderr.trim().split('\n').at(-1) || `${argv[0]} ended with ${exit.signal ?? `status ${exit.code}`}`;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Adds the filter that keeps commands from the kernel's keyrings, where the kernel takes it. */
function listBwrapVariants(found: ProbeMeans): readonly Sandbox[] {
  const plain = createBwrap(found, [], ' So are the keyrings of the kernel.');
  return keyringFilter() === null ? [plain] : [createBwrap(found, FILTERED), plain];
}

const createBwrap = (found: ProbeMeans, filter: readonly string[], more = ''): Sandbox => ({
  kind: 'bwrap',
  ...found,
  refusal: null,
  describe:
    'Shell commands run in bubblewrap: only the workspace, temporary files and package caches can be written, ' +
    `and no process outlives its call. The network is open.${more}`,
  wrap: (argv, confinement) => [
    found.programs.at('bwrap'),
    ...filter,
    ...bwrapArguments(confinement, found.places),
    ...argv,
  ],
  hold: (argv, dataDir) => [found.programs.at('bwrap'), ...holdArguments(dataDir, found.places), ...argv],
});

/**
 * The first process of a container gets the processes that commands leave, and this one waits for
 * its own alone.
 */
const NO_INIT =
  ' This is process 1 of its container, where ended processes that commands left behind stay as zombies: start the container with an init (docker run --init, or tini).';

const createGroup = (found: ProbeMeans): Sandbox => ({
  kind: 'group',
  ...found,
  refusal: null,
  describe:
    "Shell commands run unconfined, in a plain process group: files are not confined, so that one can read Perdure's keys and approve calls, and a process that leaves its group " +
    `and empties its environment can outlive its call. Install bubblewrap for a sandbox.${process.pid === 1 ? NO_INIT : ''}`,
  wrap: (argv) => argv,
  hold: (argv) => argv,
});

function createUnshare(variant: readonly string[], found: ProbeMeans): Sandbox {
  const { programs } = found;
  const prefix = [programs.at('setpriv'), '--pdeathsig', 'KILL', programs.at('unshare'), ...variant, ...NAMESPACE];
  const wrap = (argv: readonly string[]): readonly string[] => [
    ...prefix,
    programs.at('sh'),
    ...FIRST_PROCESS,
    ...argv,
  ];
  return {
    kind: 'unshare',
    ...found,
    refusal: null,
    describe:
      "Shell commands run unconfined, in their own process namespace: files are not confined, so that one can read Perdure's keys and approve calls, but no process outlives its call. " +
      'Install bubblewrap for a sandbox.',
    wrap,
    hold: wrap,
  };
}

/**
 * Root needs no user namespace; others keep their user if unshare knows how, else appear as root
 * inside.
 */
function listUnshareVariants(): readonly (readonly string[])[] {
  return process.getuid?.() === 0 ? [[]] : [['--map-current-user'], ['--map-root-user']];
}
