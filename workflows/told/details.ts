// The current details of a session in Temporal's own UI (O2): Markdown for whoever looks there. A worker answers it when it is asked, so that it
// leaves no event.
import type { SessionMemo } from '../contract/session.ts';

/** Nothing of a conversation but the session's title; what is not ours stands in code, where Markdown means nothing. */
export function detailsOf({ title, phase, cwd, runs, last, facts, approvals = [] }: SessionMemo): string {
  const { model, turns = 0, tokens = 0, cents = null } = facts ?? {};
  const cost = cents === null ? '' : ` · $${(cents / 100).toFixed(2)}`;
  const lines = [
    `**${phase.replaceAll('_', ' ')}** · ${code(title)}`,
    `${runs} runs · ${turns} turns · ${tokens} tokens${cost}${model === undefined ? '' : ` · ${code(model)}`}`,
    `in ${code(cwd)}`,
    ...approvals.map(
      ({ call, tool, question }) =>
        `- waits for ${question ? 'an answer' : 'a decision'}: ${code(tool)}, call ${code(call)}`,
    ),
    ...(last === null ? [] : [`run ${last.run} ended: ${last.terminal.reason}`]),
  ];
  return lines.join('\n\n');
}

/** A fence is longer than any run of backticks in it. Options may come from any Temporal client: a folder may be no text. */
function code(text: unknown): string {
  const line = String(text).replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}
