// The inbox's actions beyond one decision: allow calls that are alike, keep a rule for later calls,
// remove such a rule. Each answers with a sentence.
import { z } from 'zod';
import { createLimit } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { WaitingApproval, RuleChanges } from '../../client/faces/types.ts';
import { permissionsProblem } from '../../client/faces/options.ts';
import { runOf } from '../call-views/call-place.ts';
import type { PagePorts } from '../ports.ts';
import { readForm } from '../session/actions.ts';
import type { InboxFeed } from './inbox-feed.tsx';
import { isCovered, type InboxItem } from './inbox-items.ts';

const text = z.string();
const named = z.object({ session: text, call: text, inputHash: text });
const many = z.object({ items: z.array(named).min(1).max(200) });
const scopes = ['run', 'session', 'folder'] as const;
const keptRule = named.extend({ rule: text, scope: z.enum(scopes) });
const undone = z.object({ rule: text, scope: z.enum(scopes), sessions: z.array(text).min(1).max(1_000) });

/** Most requests on the way to the server at once. */
const TOGETHER = 8;
/** Most sessions of a folder that a rule is given to. */
const MOST_SESSIONS = 1_000;
const PAGE = 100;

/** `undo`: what takes the rule back. */
export type InboxDone = { readonly said: string; readonly undo?: z.infer<typeof undone> };

/** Allows several calls as they are. */
export async function allowMany(ports: PagePorts, feed: InboxFeed, body: unknown): Promise<InboxDone> {
  const { items } = readForm(many, body);
  const found = items.flatMap(({ session, call, inputHash }) => {
    const item = feed.find(session, call);
    return item && item.approval.inputHash === inputHash && isDecidable(item) ? [item] : [];
  });
  const { allowed, failed } = await allowAll(ports, feed, found);
  const rest = items.length - allowed;
  const message = `Allowed ${formatCount(allowed, 'call')}.`;
  if (rest === 0) return { said: message };
  throw new ClientProblem('refused', `${message} ${rest} not: ${failed[0] ?? 'they no longer wait, or changed'}`);
}

const isDecidable = ({ approval: { problem, question } }: InboxItem): boolean =>
  problem === undefined && question === undefined;

type Allowed = { readonly allowed: number; readonly failed: readonly string[] };

async function allowAll(ports: PagePorts, feed: InboxFeed, items: readonly InboxItem[]): Promise<Allowed> {
  const few = createLimit(TOGETHER);
  const done: WaitingApproval[] = [];
  const requests = items.map(({ approval }) =>
    few(async () => {
      await ports.approve(approval.session, approval.call);
      done.push(approval);
    }),
  );
  const ends = await Promise.allSettled(requests);
  feed.settle(done);
  return {
    allowed: done.length,
    failed: ends.flatMap((end) => (end.status === 'rejected' ? [reasonOf(end.reason)] : [])),
  };
}

/** Gives the run a rule, and allows the call and those that wait and that the rule covers. */
export async function keepRule(ports: PagePorts, feed: InboxFeed, body: unknown): Promise<InboxDone> {
  const { session, call, inputHash, rule, scope } = readForm(keptRule, body);
  const problem = permissionsProblem({ allow: [rule] });
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const item = feed.find(session, call);
  if (!item || item.approval.inputHash !== inputHash || !isDecidable(item))
    throw new ClientProblem('no_call', `call ${call} no longer waits, or has another input now`);
  if (!isCovered(rule, item)) throw new ClientProblem('refused', `rule ${rule} does not cover this call`);
  const own = runOf(item.approval);
  const others = scope === 'folder' ? await sessionsIn(ports, item.session.cwd) : [];
  const lasts: Pick<RuleChanges, 'lasts'> = scope === 'run' ? {} : { lasts: 'session' };
  await ports.changeRules(own, { allow: [rule], ...lasts });
  const changed = await changeAll(
    ports,
    others.filter((other) => other !== own),
    { allow: [rule], ...lasts },
  );
  const sessions = [own, ...changed];
  const covered = feed.items.filter(
    (one) => isDecidable(one) && sessions.includes(runOf(one.approval)) && isCovered(rule, one),
  );
  const { allowed, failed } = await allowAll(ports, feed, covered);
  const where = {
    run: 'in this run',
    session: 'in this session',
    folder: `in ${formatCount(sessions.length, 'session')} of this folder`,
  };
  const missed = failed.length === 0 ? '' : ` ${formatCount(failed.length, 'call')} not: ${failed[0]}`;
  return {
    said: `Allowed ${formatCount(allowed, 'call')}; ${rule} is allowed ${where[scope]} from here on.${missed}`,
    undo: { rule, scope, sessions },
  };
}

/** Takes a rule back; what it has allowed stays allowed. */
export async function undoRule(ports: PagePorts, body: unknown): Promise<InboxDone> {
  const { rule, scope, sessions } = readForm(undone, body);
  const changed = await changeAll(ports, sessions, { drop: [rule], ...(scope !== 'run' && { lasts: 'session' }) });
  const rest = sessions.length - changed.length;
  const message = `${rule} is asked about again; what it has allowed stays so.`;
  return {
    said: rest === 0 ? message : `${message} ${formatCount(rest, 'session')} could not be reached, or run no more.`,
  };
}

/** Returns the sessions that took the change. */
async function changeAll(ports: PagePorts, sessions: readonly string[], rules: RuleChanges): Promise<string[]> {
  const few = createLimit(TOGETHER);
  const ends = await Promise.allSettled(
    sessions.map((session) =>
      few(async () => {
        await ports.changeRules(session, rules);
        return session;
      }),
    ),
  );
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}

/** Lists the open sessions that work in a folder now. */
async function sessionsIn(ports: Pick<PagePorts, 'page'>, cwd: string): Promise<readonly string[]> {
  const found: string[] = [];
  let after: string | undefined;
  for (let looked = 0; looked < MOST_SESSIONS; looked += PAGE) {
    const page = await ports.page({ open: true, size: PAGE, ...(after !== undefined && { after }) });
    for (const one of page.sessions) if (one.cwd === cwd && one.phase !== 'idle') found.push(one.session);
    if (page.next === null) break;
    after = page.next;
  }
  return found;
}
