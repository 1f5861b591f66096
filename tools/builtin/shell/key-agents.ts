// Agents for keys, which sign commits and open connections for any process that reaches their
// socket: commands reach none unless a worker's configuration lets them (L55).
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { ReachedSocket } from '../../../system/process/bwrap.ts';
import type { Environment } from '../../../system/process/environment.ts';
import type { KeyAgent } from '../files/options.ts';

/** The variable by which programs find the agent of ssh. */
export const SSH_SOCKET = 'SSH_AUTH_SOCK';

/**
 * Lists where the agents may listen, whether or not one does. The gpg agent is reached by its
 * socket for others, by which no key is given out or changed.
 */
export function listKeyAgentSockets(agents: readonly KeyAgent[], env: Environment): readonly ReachedSocket[] {
  const ssh = env[SSH_SOCKET] ?? '';
  const home = env['GNUPGHOME'] || join(env['HOME'] || homedir(), '.gnupg');
  const gpg = [home, ...(process.getuid ? [`/run/user/${process.getuid()}/gnupg`] : [])].map((at) =>
    join(at, 'S.gpg-agent'),
  );
  const reached = [
    ...(agents.includes('ssh') ? [{ path: ssh }] : []),
    ...(agents.includes('gpg') ? gpg.map((path) => ({ path, from: `${path}.extra` })) : []),
  ];
  return reached.filter(({ path }) => isAbsolute(path));
}

/** Words of ssh, git and gpg when they reach no agent. */
const NO_AGENT =
  /Permission denied \(publickey|No private key found for|gpg failed to sign the data|Could not open a connection to your authentication agent|Couldn't find key in agent/;

/**
 * Writes a line for the end of a failed command's outcome; undefined where it did not fail for that
 * reason.
 */
export function describeMissingAgent(output: string): string | undefined {
  if (!NO_AGENT.test(output)) return undefined;
  return '(commands reach no agent for keys from the sandbox: sign nothing (git commit --no-gpg-sign), or ask the user, who may allow them with "sandbox" in the worker\'s configuration)';
}
