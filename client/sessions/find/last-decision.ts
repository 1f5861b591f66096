// Finds who decided last about a call, among the newest sessions.
import type { Client } from '@temporalio/client';
import { type PersonRequest, readRecent } from '../history/recent.ts';
import type { SessionInfo } from '../info.ts';
import type { SessionPage } from './list-sessions.ts';

export type LastDecision = { readonly session: SessionInfo; readonly decision: PersonRequest };

/** Sessions that are looked at, the newest ones. */
const LOOKED_AT = 10;
const DECISIONS: ReadonlySet<string> = new Set(['approve', 'deny', 'answer']);

type Ports = {
  readonly temporal: { readonly client: Client };
  readonly sessions: { page(options: { size: number }): Promise<SessionPage> };
};

/** Returns null without a decision since the last handovers. Throws ClientProblem. */
export async function findLastDecision({ temporal, sessions }: Ports): Promise<LastDecision | null> {
  const { sessions: newest } = await sessions.page({ size: LOOKED_AT });
  const found = await Promise.all(
    newest.map(async (session) => {
      const { asked } = await readRecent(temporal.client, session.session);
      const decision = asked.findLast(({ kind }) => DECISIONS.has(kind));
      return decision ? [{ session, decision }] : [];
    }),
  );
  return found.flat().toSorted((one, other) => other.decision.at - one.decision.at)[0] ?? null;
}
