// Tells people which MCP servers of a run cannot be reached (G40). The run goes on without them.
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { View } from '../../store/view/view.ts';
import type { AwayServer } from '../../tools/mcp/run-servers-port.ts';
import { present } from '../../workflows/contract/present.ts';
import type { Deps } from '../deps.ts';

/** Returns a notice for each server that is away, once in a run for each reason. */
export function noticeAwayServers(
  { runServers }: Pick<Deps, 'runServers'>,
  { mcpServers }: Pick<RunConfig, 'mcpServers'>,
  view: View,
): readonly Entry[] {
  const away = runServers?.away(mcpServers) ?? [];
  return away.flatMap((one) => (isTold(view, one) ? [] : [noticeOf(one)]));
}

function noticeOf({ server, detail, unauthorized }: AwayServer): Entry {
  const facts = present({ unauthorized: unauthorized || undefined });
  return { kind: 'notice', notice: { kind: 'server_away', server, detail, ...facts } as const };
}

/** Tells whether the newest notice of the run about the server says the same. */
function isTold(view: View, { server, detail }: AwayServer): boolean {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'run_started') return false;
    if (entry?.kind !== 'notice' || entry.notice.kind !== 'server_away') continue;
    if (entry.notice.server === server) return entry.notice.detail === detail;
  }
  return false;
}
