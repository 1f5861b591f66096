// Finds who decided last about a call, among the newest sessions.
import type { Client } from '@temporalio/client';
import { type PersonRequest, readRecent } from '../history/recent.ts';
import type { SessionInfo } from '../info.ts';
import type { SessionPage } from './list-sessions.ts';

/** `verb` says for people what was decided: "allowed". */
export type LastDecision = { readonly session: SessionInfo; readonly decision: PersonRequest; readonly verb: string };

/** Sessions that are looked at, the newest ones. */
const LOOKED_AT = 10;
const VERBS: Readonly<Record<string, string>> = { approve: 'allowed', deny: 'denied', answer: 'answered' };

type Ports = {
  readonly temporal: { readonly client: Client };
  readonly sessions: { page(options: { size: number }): Promise<SessionPage> };
};

/** Returns null without a decision since the last handovers. Throws ClientProblem. */
export async function findLastDecision({ temporal, sessions }: Ports): Promise<LastDecision | null> {
  const { sessions: newest } = await sessions.page({ size: LOOKED_AT });
  const found = await Promise.all(
    newest.map(async (session) => {
      const { asked: requests } = await readRecent(temporal.client, session.session);
      const decision = requests.findLast(({ kind }) => Object.hasOwn(VERBS, kind));
      return decision ? [{ session, decision, verb: VERBS[decision.kind] ?? '' }] : [];
    }),
  );
  return found.flat().toSorted((one, other) => other.decision.at - one.decision.at)[0] ?? null;
}
