// Slash commands of a chat that only look: at cost, permissions, changed files and agents.
import { oneLine } from '../../client/paint.ts';
import { changeOf, diffRows } from '../../client/render/diff-rows.ts';
import { phaseText } from '../../client/sessions/info.ts';
import { formatCount, formatMoney, formatTokens } from '../../client/units.ts';
import { colourPatch } from '../render/patch.ts';
import { statText } from '../render/rewind-plan.ts';
import type { Talk } from './talk.ts';

type Looking = Pick<Talk, 'sessions' | 'session' | 'say'>;

/** Most agents to list. */
const MOST_AGENTS = 50;
const MOST_FILES = 100;
const MOST_PATCH_LINES = 400;

const formatDollars = (cents: number | null): string => formatMoney(cents === null ? null : cents / 100);

export async function sayCost({ sessions, session, say }: Looking): Promise<void> {
  const { facts, runs } = await sessions.describe(session);
  if (!facts) return say('nothing has been spent yet');
  const { turns, tokens, cents } = facts;
  say([formatDollars(cents), formatTokens(tokens), formatCount(turns, 'turn'), formatCount(runs, 'run')].join(' · '));
  for await (const agent of agentsOf({ sessions, session }))
    if (agent.facts) say(`  ${oneLine(agent.title, 60)}: ${formatDollars(agent.facts.cents)}`);
}

async function* agentsOf({ sessions, session }: Pick<Looking, 'sessions' | 'session'>) {
  let count = 0;
  for await (const agent of sessions.list({ filter: `root:${session}` })) {
    if (agent.session !== session) yield agent;
    count += 1;
    if (count >= MOST_AGENTS) return;
  }
}

export async function sayAgents({ sessions, session, say }: Looking): Promise<void> {
  let count = 0;
  for await (const agent of agentsOf({ sessions, session })) {
    const type = agent.facts?.agent?.type ?? 'agent';
    say(
      `${oneLine(type, 30)}  ${oneLine(agent.title, 60)}  ${phaseText(agent)}  ${formatCount(agent.facts?.turns ?? 0, 'turn')}`,
    );
    count += 1;
  }
  if (count === 0) say('no agents');
}

export async function sayPermissions({ say, readConfig }: Looking & Pick<Talk, 'readConfig'>): Promise<void> {
  const config = await readConfig();
  if (config === null) return say('no run has begun yet');
  const { mode, permissions = {} } = config;
  say(`mode ${mode}`);
  for (const list of ['allow', 'ask', 'deny'] as const)
    for (const rule of permissions[list] ?? []) say(`  ${list.padEnd(5)}  ${oneLine(rule, 200)}`);
  say('more rules: start with --allow, --ask or --deny; /mode changes the mode');
}

/** Counts the changes that were asked for and did not fail. */
export async function sayFiles({ sessions, session, say }: Looking): Promise<void> {
  const failed = new Set<string>();
  const changes: { readonly id: string; readonly path: string; readonly added: number; readonly removed: number }[] =
    [];
  for await (const { entry } of sessions.transcript(session)) {
    if (entry.kind === 'outcomes')
      for (const { toolUseId, isError } of entry.outcomes) if (isError) failed.add(toolUseId);
    if (entry.kind !== 'reply') continue;
    for (const block of entry.message.content) {
      const change = block.type === 'tool_use' ? changeOf(block.name, block.input) : null;
      if (block.type !== 'tool_use' || change === null) continue;
      const { lines } = diffRows(change.before, change.after);
      const count = (mark: string): number => lines.filter((line) => line.mark === mark).length;
      changes.push({ id: block.id, path: change.path, added: count('+'), removed: count('-') });
    }
  }
  const byPath = new Map<string, { added: number; removed: number }>();
  for (const { id, path, added, removed } of changes) {
    if (failed.has(id)) continue;
    const before = byPath.get(path) ?? { added: 0, removed: 0 };
    byPath.set(path, { added: before.added + added, removed: before.removed + removed });
  }
  if (byPath.size === 0) return say('no file was changed by edit or write; commands may have changed some');
  for (const [path, { added, removed }] of [...byPath].slice(0, MOST_FILES))
    say(`${oneLine(path, 200)}  +${added} −${removed}`);
  if (byPath.size > MOST_FILES) say(`… ${formatCount(byPath.size - MOST_FILES, 'more file')}`);
}

export async function sayDiff({ sessions, session, say, out, self }: Talk, path: string): Promise<void> {
  const { files, patch, uncaptured = [] } = await sessions.diff(session, path === '' ? {} : { paths: [path] });
  const lines = (patch === null ? statText(out, files) : colourPatch(out, patch)).trimEnd().split('\n');
  for (const line of lines.slice(0, MOST_PATCH_LINES)) say(line);
  const left = lines.length - MOST_PATCH_LINES;
  if (left > 0) say(`… ${formatCount(left, 'more line')}: \`${self} diff ${session}\` prints all`);
  for (const { path: name, why } of uncaptured.slice(0, MOST_FILES)) say(`${oneLine(name, 200)}: ${why}`);
}
