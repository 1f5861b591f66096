// Trees of agents under fire (L69): workers killed, runs interrupted, limits reached, calls
// decided, and every token counted once. A few trees of one seed; `npm run agents-under-fire --
// --seed 7 --trees 200` does as many as are wanted, and a seed does the same again.
import { expect, test } from 'vitest';
import { MEMO_KEY, SIGNALS, type PendingApproval, type SessionMemo } from '../../workflows/contract/session.ts';
import { agentsOf, entriesOf, grantOf, spentIn, tokensOf, type Seen } from '../support/agents.ts';
import { promptOf } from '../support/by-prompt.ts';
import { crashHarness, decidePatiently } from '../support/crash-harness.ts';
import { billOf, fireScript, growTree, type FireTree } from '../support/fire-trees.ts';
import { once, type OpenSession } from '../support/harness.ts';
import { random } from '../support/random.ts';
import { until } from '../support/until.ts';

const {
  FIRE_SEED: seed = '228',
  FIRE_TREES: count = '2',
  FIRE_AGENTS: most = '8',
  FIRE_TOGETHER: together = '10',
} = process.env;

type Harness = Awaited<ReturnType<typeof crashHarness>>;
type Burning = { readonly h: Harness; readonly tree: FireTree; readonly session: OpenSession };

const repliesOf = ({ h, tree }: Burning): number => h.bodies().filter((body) => tree.nodes.has(promptOf(body))).length;

/** Decides at the root all that waits anywhere in the tree. */
async function decideAll({ h, session }: Burning, decided: Set<string>): Promise<void> {
  for (const { agent, call, inputHash } of (await session.memo())?.approvals ?? ([] as readonly PendingApproval[])) {
    if (decided.has(`${call} ${inputHash}`)) continue;
    decided.add(`${call} ${inputHash}`);
    const asked = agent
      ? { ...session, id: agent.session, handle: h.client.workflow.getHandle(agent.session) }
      : session;
    const mayHaveRun = inputHash.includes('.');
    const answer = { call: agent?.call ?? call, inputHash, ...(mayHaveRun ? { reason: 'it may have run' } : {}) };
    // A run that was stopped meanwhile has withdrawn it; what is listed still is decided at the
    // next look.
    await decidePatiently(h.client, asked, mayHaveRun ? 'deny' : 'approve', answer).catch(() => {
      decided.delete(`${call} ${inputHash}`);
    });
  }
}

async function interruptOne(burning: Burning): Promise<boolean> {
  const { h, tree, session } = burning;
  if (!tree.interrupt || repliesOf(burning) < tree.interrupt.after) return false;
  const agents = tree.interrupt.whom === 'agent' ? await agentsOf(h, session.id) : [];
  const [running] = agents.filter(({ status }) => status === 'RUNNING');
  // One that has just ended takes no signal.
  const id = running?.id ?? session.id;
  await h.client.workflow
    .getHandle(id)
    .signal(SIGNALS.interrupt, once('interrupt'))
    .catch(() => {});
  return true;
}

/**
 * All of it has ended, and the root knows: the end of an agent may open a run there, and this
 * another agent.
 */
async function isOver({ h, session }: Burning): Promise<boolean> {
  const before = await agentsOf(h, session.id);
  if (before.some(({ status }) => status === 'RUNNING')) return false;
  const { memo, raw } = await session.handle.describe();
  const { phase, last } = (memo?.[MEMO_KEY] ?? {}) as Partial<SessionMemo>;
  if (phase !== 'idle' || !last || raw.pendingWorkflowTask) return false;
  const after = await agentsOf(h, session.id);
  return after.length === before.length && after.every(({ status }) => status !== 'RUNNING');
}

async function burn(burning: Burning): Promise<void> {
  const decided = new Set<string>();
  let isInterrupted = false;
  await until(async () => {
    if (burning.tree.asks) await decideAll(burning, decided);
    isInterrupted ||= await interruptOne(burning);
    return await isOver(burning);
  });
}

/** What its own model calls took, without its agents', by its transcript; and its last reply. */
async function ownSpend(h: Harness, one: Seen) {
  const entries = await entriesOf(h, one);
  const listed = entries.flatMap((entry) => (entry.kind === 'run_ended' ? (entry.ended.agents ?? []) : []));
  const replies = entries.flatMap((entry) => (entry.kind === 'reply' ? [tokensOf(entry.spend)] : []));
  const own = tokensOf(spentIn(entries)) - listed.reduce((sum, { spend }) => sum + tokensOf(spend), 0);
  return { one, own, stored: replies.reduce((sum, tokens) => sum + tokens, 0) };
}

/** The invariants of L66 to L70; returns the numbers. */
async function judge(burning: Burning) {
  const { h, tree, session } = burning;
  const about = `tree ${tree.seed}`;
  const memo = (await session.memo())!;
  const agents = await agentsOf(h, session.id);
  const titles = agents.map(({ memo: { title } }) => title);
  expect(new Set(titles).size, `${about}: each agent has one session`).toBe(titles.length);
  expect(
    agents.filter(({ status }) => !['COMPLETED', 'CANCELLED'].includes(status)),
    about,
  ).toEqual([]);
  const root: Seen = { id: session.id, status: 'RUNNING', memo };
  const spends = await Promise.all([root, ...agents].map((one) => ownSpend(h, one)));
  const own = spends.reduce((sum, each) => sum + each.own, 0);
  expect(memo.facts!.tokens, `${about}: the root counts what all took`).toBe(own);
  for (const { one, own: counted, stored } of spends)
    expect(counted, `${about}: ${one.memo.title} counts every reply`).toBeGreaterThanOrEqual(stored);
  const bodies = h.bodies().filter((body) => tree.nodes.has(promptOf(body)));
  // A reply that was lost with its worker counts with the token of output that it begins with.
  const billed = bodies.reduce((sum, body) => sum + billOf(tree, body) + 1, 0);
  expect(own, `${about}: nothing is counted twice`).toBeLessThanOrEqual(billed);
  const over = await overLimits(h, tree, spends);
  expect(memo.approvals ?? [], `${about}: nothing waits at the root`).toEqual([]);
  return { agents: agents.length, own, over };
}

/** One that was lost with its worker counts as well. */
function largestCall({ nodes, prompt }: FireTree, { memo: { title, facts } }: Seen): number {
  const steps = nodes.get(facts?.agent ? title.replace('Title of ', '') : prompt) ?? [];
  return Math.max(...steps.map(({ tokens }) => tokens)) + 1;
}

/**
 * Each session exceeds what it was granted by one model call of its own at most, beside what its
 * agents exceed theirs by.
 */
async function overLimits(h: Harness, tree: FireTree, spends: Awaited<ReturnType<typeof ownSpend>>[]): Promise<number> {
  const over = async ({ one }: (typeof spends)[number]): Promise<number> => {
    const below = spends.filter((each) => each.one.memo.facts?.agent?.parent === one.id);
    const theirs = (await Promise.all(below.map(over))).reduce((sum, each) => sum + each, 0);
    const limit = one.memo.facts?.agent ? await grantOf(h, one.id) : (tree.maxTokens ?? Infinity);
    const exceeded = Math.max(0, one.memo.facts!.tokens - limit);
    expect(exceeded, `tree ${tree.seed}: ${one.memo.title} of ${limit}`).toBeLessThanOrEqual(
      largestCall(tree, one) + theirs,
    );
    return exceeded;
  };
  return await over(spends[0]!);
}

/** Workers die when so many requests were made since the last has begun. */
async function fire(h: Harness, dice: ReturnType<typeof random>, over: () => boolean): Promise<number> {
  let kills = 0;
  for (;;) {
    const worker = await h.worker();
    const [from, drawn] = [h.bodies().length, 5 + dice.nat(60)];
    // The first dies early: every fire has one.
    const more = kills === 0 ? Math.min(drawn, 10) : drawn;
    await until(() => over() || (kills < 3 && h.bodies().length >= from + more));
    await worker.kill();
    if (over()) return kills;
    kills += 1;
  }
}

async function burnTogether(trees: readonly FireTree[]): Promise<void> {
  const h = await crashHarness({ script: fireScript(trees), ownThread: true });
  let over = false;
  const firing = fire(h, random(trees[0]!.seed), () => over);
  const burning = await Promise.all(
    trees.map(async (tree): Promise<Burning> => {
      const limit = tree.maxTokens === null ? {} : { maxTokens: tree.maxTokens };
      const rules = tree.asks ? ({ permissionMode: 'default', permissions: { ask: ['bash'] } } as const) : {};
      return { h, tree, session: await h.open(tree.prompt, { ...limit, ...rules }) };
    }),
  );
  await Promise.all(burning.map(burn));
  for (const each of burning) {
    const { agents, own, over: exceeded } = await judge(each);
    const { seed: one, maxTokens, asks, interrupt } = each.tree;
    const how = [
      maxTokens && `limit ${maxTokens}, over by ${exceeded}`,
      asks && 'asked',
      interrupt && `interrupted: ${interrupt.whom}`,
    ];
    process.stdout.write(`tree ${one}: ${agents} agents, ${own} tokens ${how.filter(Boolean).join(', ')}\n`);
  }
  over = true;
  const kills = await firing;
  expect(kills).toBeGreaterThan(0);
  expect(new Set(h.effects()).size, 'an effect happens once').toBe(h.effects().length);
  process.stdout.write(`${trees.length} trees, ${h.bodies().length} model calls, ${kills} workers killed\n`);
}

test(
  `agents of random trees under kills, interrupts and limits end once and count to the token (L40 L64 L69 L70)`,
  { timeout: 3_600_000 },
  async () => {
    const trees = Array.from({ length: Number(count) }, (_, n) => growTree(Number(seed) * 10_000 + n, Number(most)));
    const size = Number(together);
    for (let at = 0; at < trees.length; at += size) await burnTogether(trees.slice(at, at + size));
  },
);
