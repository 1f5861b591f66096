// The workflow that was here before: it fetches an issue and files what was found. Between the two
// it now asks an agent.
import { proxyActivities } from '@temporalio/workflow';
import { runAgent } from 'perdure/workflow';
import type * as activities from './activities.ts';

const { fetchIssue, fileComment } = proxyActivities<typeof activities>({ startToCloseTimeout: '1 minute' });

export async function triage(issue: number): Promise<string> {
  const { title, text } = await fetchIssue(issue);
  const { reason, text: found } = await runAgent({
    prompt: `Find the cause of this issue and name the file that it is in.\n\n${title}\n\n${text}`,
    options: { permissionMode: 'plan', maxTurns: 20 },
  });
  return fileComment(issue, reason === 'completed' ? found : `No cause was found (${reason}).`);
}
