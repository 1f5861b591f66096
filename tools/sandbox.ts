// Finds out once, by trying, how shell commands are held, best first. bubblewrap confines files and
// processes, unshare only processes, a process group neither; the start-up line names the kind.
import { bwrapArguments, holdArguments, type Confinement } from '../system/process/bwrap.ts';
import { FILTERED, keyringFilter } from '../system/process/keyring-filter.mjs';
import { findPlaces, type Places } from '../system/process/places.ts';
import { findPrograms, type Programs } from '../system/process/programs.ts';
import { runProgram } from '../system/process/spawn-piped.ts';
import { pipePlace } from '../system/process/pipes.ts';
import { reasonOf } from '../system/text.ts';

type SandboxKind = 'bwrap' | 'unshare' | 'group';

export type Sandbox = {
  readonly kind: SandboxKind;
  /** One sentence for people. */
  readonly describe: string;
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

export type ProbeOptions = {
  /** Requires a sandbox that confines files: without one, a sentence is thrown. */
  readonly require?: boolean;
  /** The kinds to try, in this order. Absent: all, best first. */
  readonly kinds?: readonly SandboxKind[];
  /** Absent: the programs of this process's environment. */
  readonly programs?: Programs;
  readonly places?: Places;
};

/** What a person has to know where files are not confined. */
export const UNCONFINED =
  "commands aren't confined here, because bubblewrap is missing or doesn't work: an agent that may run one can read Perdure's keys and approve its own calls. " +
  'Install bubblewrap, or deny bash';

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
  for (const kind of kinds) {
    const found = await attemptKind(kind, { programs, places });
    if (typeof found !== 'string') return found;
    reasons.push(`${kind}: ${found}`);
  }
  throw new Error(
    `A sandbox for shell commands is required, and none works here (${reasons.join('; ')}). ` +
      'Install bubblewrap and allow user namespaces, or do not require a sandbox.',
  );
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
  describe:
    "Shell commands run in a plain process group: files are not confined, so that one can read Perdure's keys and approve calls, and a process that leaves its group " +
    `and empties its environment can outlive its call. Install bubblewrap for a sandbox.${process.pid === 1 ? NO_INIT : ''}`,
  wrap: (argv) => argv,
  hold: (argv) => argv,
});

function createUnshare(variant: readonly string[], found: ProbeMeans): Sandbox {
  const { programs } = found;
  const prefix = [programs.at('setpriv'), '--pdeathsig', 'KILL', programs.at('unshare'), ...variant, ...NAMESPACE];
  return {
    kind: 'unshare',
    ...found,
    describe:
      "Shell commands run in their own process namespace: files are not confined, so that one can read Perdure's keys and approve calls, but no process outlives its call. " +
      'Install bubblewrap for a sandbox.',
    wrap: (argv) => [...prefix, programs.at('sh'), ...FIRST_PROCESS, ...argv],
    hold: (argv) => [...prefix, programs.at('sh'), ...FIRST_PROCESS, ...argv],
  };
}

/**
 * Root needs no user namespace; others keep their user if unshare knows how, else appear as root
 * inside.
 */
function listUnshareVariants(): readonly (readonly string[])[] {
  return process.getuid?.() === 0 ? [[]] : [['--map-current-user'], ['--map-root-user']];
}
