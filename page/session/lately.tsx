// Shows what people have asked of a session, who it was, and what waits for its next run.
import { showUnseen } from '../../system/text.ts';
import type { PersonRequest, RecentRequests } from '../../client/faces/types.ts';
import { PLAIN_ACTIONS, limitsText, optionsText, rulesText } from '../../client/faces/options.ts';
import { OWNER } from '../hosting/people.ts';
import { Moment } from '../layout.tsx';
import { identityOfPerson } from '../ports.ts';

/** Most requests to show, the newest ones. */
const SHOWN = 5;

export function RequestList({ recent: { asked: requests, next } }: { readonly recent: RecentRequests }) {
  const waiting = optionsText(next);
  return (
    <div id="lately" class="lately">
      {waiting === '' ? null : <p class="warn">{`For the next run: ${waiting}`}</p>}
      {requests.length === 0 ? null : (
        <ul aria-label="Asked lately">
          {requests.slice(-SHOWN).map((one) => (
            <li>
              {`${requestText(one)} by `}
              <b>
                <PersonName by={one.by} />
              </b>{' '}
              <Moment at={one.at} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const OWNER_HERE = identityOfPerson(OWNER, 'on the ops page');

/** The sheet shows the owner `you`, and others who it was: all of them watch the same feed. */
export function PersonName({ by }: { readonly by: string }) {
  if (by !== OWNER_HERE) return <>{personName(by)}</>;
  return (
    <>
      <span class="owner-you">you, on the page</span>
      <span class="owner-name">{OWNER_HERE}</span>
    </>
  );
}

/** Shows the client's identity, which is `pid@host` for an unnamed client. */
export function personName(by: string): string {
  return showUnseen(by.slice(0, 100)) || 'somebody';
}

/** Describes a request without the person. */
export function requestText(one: PersonRequest): string {
  switch (one.kind) {
    case 'approve':
      return `call ${showUnseen(one.call.slice(0, 60))} allowed${one.edited ? ', with its input changed,' : ''}`;
    case 'deny':
      return `call ${showUnseen(one.call.slice(0, 60))} denied (${showUnseen(one.reason.slice(0, 120))})`;
    case 'answer':
      return `question ${showUnseen(one.call.slice(0, 60))} answered`;
    case 'topUp':
      return `limits ${one.exact ? 'set' : 'raised'} to ${limitsText(one.limits)}`;
    case 'changeRules':
      return showUnseen(rulesText(one.rules));
    case 'setOptions':
      return `options for the next run set: ${optionsText(one.changes)};`;
    default:
      return PLAIN_ACTIONS[one.kind];
  }
}
