// Ends a task of a conversation, an agent or a background command, by the id in its messages.
import { backgroundRoot } from '../../../system/process/background-files.ts';
import { endCommand } from '../../../tools/builtin/shell/background.ts';
import type { PerdureClient } from '../../perdure-client.ts';
import { ClientProblem } from '../../problem.ts';
import type { SDKMessage } from '../shapes/messages.ts';
import { taskOf } from './called-agents.ts';
import type { CommandTasks } from './command-tasks.ts';
import type { FollowedAgents } from './follow-agents.ts';

export type StoppableTasks = {
  readonly session: string;
  readonly sessions: Pick<PerdureClient, 'interrupt'>;
  /** The path of the data folder. */
  readonly root: string;
  readonly agents: Pick<FollowedAgents, 'listBegun'>;
  /** The background commands of the main session. */
  readonly commands: CommandTasks;
};

/**
 * Ends the task, and returns the message of its end, or null for an agent, whose transcript tells
 * it. Throws ClientProblem `refused` for an unknown id, and `unanswered` when the command does not
 * confirm its end.
 */
export async function stopTask(
  { session, sessions, root, agents, commands }: StoppableTasks,
  id: string,
): Promise<SDKMessage | null> {
  const begun = agents.listBegun();
  const found = begun.find(({ agent }) => taskOf(agent) === id);
  if (found) {
    await sessions.interrupt(found.agent.session);
    return null;
  }
  const owners = [{ session, commands }, ...begun.map((each) => ({ ...each, session: each.agent.session }))];
  for (const owner of owners) {
    const record = await endCommand(backgroundRoot(root), owner.session, id);
    if (record?.end) return owner.commands.stop(id);
    if (record) throw new ClientProblem('unanswered', `command ${id} was told to end, and has not said that it did`);
  }
  const known = 'task_started names those there are';
  throw new ClientProblem('refused', `there is no task ${JSON.stringify(id.slice(0, 80))} of this query: ${known}`);
}
