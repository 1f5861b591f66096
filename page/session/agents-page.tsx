// Lists the agents that a session began, with what each took and how it stands.
import { showUnseen } from '../../system/text.ts';
import { matchAgents } from '../../client/sessions/history/agent-calls.ts';
import { formatMoney, shortTime } from '../../client/units.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { formatNumber } from '../figures.tsx';
import { htmlOf, Moment } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { EmptyCard } from '../empty-card.tsx';
import { AgentState } from './agent-state.tsx';
import { transcriptFacts } from './session-facts.ts';
import { placeIn, SessionShell } from './session-shell.tsx';

export function agentsPage(feed: SessionFeed, { temporalUi }: Pick<PagePorts, 'temporalUi'>): string {
  const place = placeIn(feed);
  const { seen: description, items, agents } = feed.standing;
  const calls = transcriptFacts(items).agents;
  const now = Date.now();
  const places = new Map([...matchAgents(calls, agents)].map(([anchor, { session }]) => [session, anchor]));
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={temporalUi(description.session)} part="agents">
      <section id="agents" data-fresh class="agents" aria-label="Agents">
        {agents.length === 0 ? (
          <EmptyCard icon="agent" title="No agents yet">
            Agents that this session starts appear here.
          </EmptyCard>
        ) : (
          <div class="wide" tabindex={0} role="region" aria-label="Table of agents">
            <table>
              <thead>
                <tr>
                  <th>Agent</th>
                  <th>State</th>
                  <th>Type</th>
                  <th class="number">Turns</th>
                  <th class="number">Cost</th>
                  <th class="number">Time</th>
                  <th>Started</th>
                </tr>
              </thead>
              <tbody>
                {agents.map((agent) => {
                  const { session, title, facts, startedAt, closedAt } = agent;
                  const anchor = places.get(session);
                  return (
                    <tr>
                      <td>
                        <a href={`/sessions/${session}`}>{showUnseen(title || session)}</a>
                        {anchor === undefined ? null : (
                          <small>
                            <a
                              href={`/sessions/${description.session}?at=${anchor.split('-').slice(0, 2).join('.')}#call-${anchor}`}
                            >
                              its call
                            </a>
                          </small>
                        )}
                      </td>
                      <td>
                        <AgentState agent={agent} now={now} />
                      </td>
                      <td>{showUnseen(facts?.agent?.type ?? '')}</td>
                      <td class="number">{formatNumber(facts?.turns ?? 0)}</td>
                      <td class="number">{formatMoney(facts?.cents == null ? null : facts.cents / 100)}</td>
                      <td class="number">{closedAt === null ? '…' : shortTime(closedAt - startedAt)}</td>
                      <td>
                        <Moment at={startedAt} />
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </SessionShell>,
  );
}
