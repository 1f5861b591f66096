// Says at the end of a failed command's outcome that the sandbox was the likely cause: the model
// reads of a connection that was refused, and not that nothing could be reached.
import { statSync } from 'node:fs';
import type { ReachedSocket } from '../../../system/process/bwrap.ts';
import { isInside, realOf } from '../../../system/process/places.ts';
import { toolVariableProblem } from '../../../workflows/contract/tool-env.ts';
import { describeMissingAgent } from './key-agents.ts';

type HeldCommand = {
  readonly command: string;
  /** Whether it was judged to only read: it writes nothing and reaches no network. */
  readonly readOnly: boolean;
  /** The variables of `worker` that it got. */
  readonly env: Readonly<Record<string, string>>;
  readonly worker: Readonly<Record<string, string | undefined>>;
  /** Sockets that it can reach. */
  readonly sockets: readonly ReachedSocket[];
  readonly dataDir?: string | undefined;
};

const READ_ONLY =
  /Read-only file system|\bEROFS\b|Failed to create headless user data directory|profile cannot be loaded/i;
const NO_NETWORK =
  /Could not resolve host|Temporary failure in name resolution|Network is unreachable|\bENOTFOUND\b|\bEAI_AGAIN\b|\bENETUNREACH\b/;
/** Words of programs that look for a bus, which they do not name. */
const NO_BUS = /Failed to connect to (?:the )?(?:system |session |user )?(?:scope )?bus\b|Cannot autolaunch D-Bus/i;
/** Characters of the two ends of an output that are looked at. */
const LOOKED_AT = 20_000;
const MOST_PATHS = 100;
const MOST_NAMES = 3;

/** Writes lines for the outcome of a command that failed in bubblewrap with this output. */
export function describeSandboxCauses(output: string, command: HeldCommand): readonly string[] {
  const text = output.length <= 2 * LOOKED_AT ? output : `${output.slice(0, LOOKED_AT)}\n${output.slice(-LOOKED_AT)}`;
  const lines = [
    describeMissingAgent(text),
    describeUnwritten(text, command),
    command.readOnly && NO_NETWORK.test(text)
      ? '(commands that only read reach no network from the sandbox)'
      : undefined,
    describeHidden(text, command),
  ];
  return lines.filter((line) => line !== undefined);
}

function describeUnwritten(text: string, { readOnly }: HeldCommand): string | undefined {
  if (!READ_ONLY.test(text)) return undefined;
  if (readOnly) return '(the sandbox lets commands that only read write nothing)';
  return (
    '(in the sandbox commands write the workspace, temporary folders and package caches; all else is read-only, the ' +
    'home folder too: let the program write elsewhere, such as with HOME="$(mktemp -d)" before it, or ask the user)'
  );
}

/** Names a socket that is masked, or a place that is hidden, of those that are spoken of. */
function describeHidden(text: string, { command, sockets, dataDir }: HeldCommand): string | undefined {
  const isReached = (path: string): boolean =>
    sockets.some((at) => at.path === path || realOf(at.path) === realOf(path));
  const named = findPaths(`${command}\n${text}`).filter((path) => !isReached(path));
  const socket = named.find(isSocket);
  if (socket !== undefined)
    return `(the sandbox hides the socket ${socket}: the user can let commands reach it with "sandbox": { "sockets": ["${socket}"] } in the worker's configuration)`;
  if (dataDir !== undefined && named.some((path) => isInside(dataDir, path)))
    return "(the sandbox hides the folder of Perdure's data)";
  const running = named.find((path) => /^\/(?:var\/)?run\//.test(path));
  if (running === undefined && !NO_BUS.test(text)) return undefined;
  return `(the sandbox hides most of /run, where services listen${running === undefined ? '' : `, ${running} included`})`;
}

/** Finds absolute paths, those in addresses of sockets (`unix:///run/x`) as well. */
function findPaths(text: string): readonly string[] {
  const plain = text.replaceAll(/\b\w+:\/\//g, ' ');
  const found = plain.matchAll(/(?<![\w.~/-])\/[\w.@+/-]*\w/g);
  return [...new Set(Array.from(found, ([path]) => path))].slice(0, MOST_PATHS);
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}

/**
 * Says which variables that a failed command speaks of are set for Perdure, and not passed on to
 * commands; undefined where there is none. Values are not looked at.
 */
export function describeMissingVariables(output: string, { env, worker }: HeldCommand): string | undefined {
  const named = new Set(output.slice(-LOOKED_AT).match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g));
  const missing = [...named].filter(
    (name) => worker[name] !== undefined && env[name] === undefined && toolVariableProblem(name) === undefined,
  );
  if (missing.length === 0) return undefined;
  const names = missing.slice(0, MOST_NAMES).join(', ');
  return `(set for Perdure and not passed on to commands: ${names}. The user may pass it on with "toolEnv")`;
}
