// The most urgent of what waits for a person, a row each: what it is, and one press to decide it.
import { showUnseen } from '../../system/text.ts';
import { parseQuestion, changeOf, diffRows } from '../../client/faces/words.ts';
import type { WaitingApproval } from '../../client/faces/types.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { summarizeCall } from '../call-views/call-summary.ts';
import { Age, formatNumber } from '../figures.tsx';
import { Icon } from '../primitives.tsx';
import { MOST_WHAT } from '../session/decision-form.tsx';

/** Rows of the strip: with them the list below still begins within the first screen. */
export const NEEDS_SHOWN = 3;

export type Need = { readonly approval: WaitingApproval; readonly title: string };

type StripProps = { readonly needs: readonly Need[]; readonly waiting: readonly WaitingApproval[] };

export function NeedStrip({ needs, waiting }: StripProps) {
  if (waiting.length === 0) return <section id="needs" hidden />;
  const oldest = Math.min(...waiting.map(({ askedAt }) => askedAt ?? Infinity));
  return (
    <section class="card needs" id="needs" aria-label="Needs you">
      <header class="row">
        <Icon name="waiting" />
        <h2>{waiting.length === 1 ? '1 needs you' : `${formatNumber(waiting.length)} need you`}</h2>
        <small class="inline cut">
          {Number.isFinite(oldest) ? (
            <>
              oldest <Age at={oldest} /> ·{' '}
            </>
          ) : null}
          {kindsText(waiting)}
        </small>
        <a class="far" href="/inbox">
          Open inbox <kbd>g</kbd> <kbd>i</kbd>
        </a>
      </header>
      {needs.slice(0, NEEDS_SHOWN).map((need) => (
        <NeedRow {...need} />
      ))}
    </section>
  );
}

const EDITS: readonly string[] = ['edit', 'write', 'multi_edit', 'notebook_edit'];

type Kind = 'question' | 'edit' | 'command' | 'call';

function kindOf({ question, tool }: WaitingApproval): Kind {
  if (question) return 'question';
  if (EDITS.includes(tool)) return 'edit';
  return tool === 'bash' ? 'command' : 'call';
}

const KINDS: readonly Kind[] = ['edit', 'command', 'call', 'question'];

function kindsText(waiting: readonly WaitingApproval[]): string {
  const found = waiting.map(kindOf);
  return KINDS.flatMap((kind) => {
    const count = found.filter((each) => each === kind).length;
    return count === 0 ? [] : [formatCount(count, kind)];
  }).join(', ');
}

const MOST = 160;

function NeedRow({ approval, title }: Need) {
  const { session, call, inputHash, problem, askedAt } = approval;
  const kind = kindOf(approval);
  const path = `/sessions/${session}`;
  const { tool: label, what, icon } = summarizeCall(approval);
  const name = showUnseen(label.slice(0, 60));
  return (
    <div
      class="need"
      id={needId(approval)}
      data-hash={inputHash}
      data-what={`${name} ${showUnseen(oneLine(what, MOST_WHAT))}`}
    >
      <Icon name={icon} />
      <b class="tool cut">{name}</b>
      <a class="cut need-task" href={path}>
        {showUnseen(title) || session}
      </a>
      <span class="cut need-what">
        {problem === undefined ? <What approval={approval} kind={kind} /> : showUnseen(problem)}
      </span>
      <span class="number quiet need-age">{askedAt === undefined ? '' : <Age at={askedAt} />}</span>
      <span class="row far">
        {kind === 'edit' && problem === undefined ? (
          <form data-needs="decide" data-decides={`${path}/approve`}>
            <input type="hidden" name="call" value={call} />
            <input type="hidden" name="inputHash" value={inputHash} />
            <button class="small allow" aria-label={`Allow ${name} in ${showUnseen(title)}`}>
              Allow
            </button>
          </form>
        ) : (
          <a class="button small" href={`/inbox?${new URLSearchParams({ session, call }).toString()}`}>
            {kind === 'question' ? 'Answer' : 'Review'}
          </a>
        )}
        {kind === 'question' ? null : (
          <form data-needs="decide" data-decides={`${path}/deny`}>
            <input type="hidden" name="call" value={call} />
            <button class="small plain" aria-label={`Deny ${name} in ${showUnseen(title)}`}>
              Deny
            </button>
          </form>
        )}
      </span>
    </div>
  );
}

const needId = ({ session, call }: WaitingApproval): string => `need-${session}-${call.replace(/[^\w-]/g, '-')}`;

function What({ approval, kind }: { readonly approval: WaitingApproval; readonly kind: Kind }) {
  const { tool, input } = approval;
  if (kind === 'question') {
    const { question, options } = parseQuestion(input);
    return (
      <>
        {showUnseen(oneLine(question, MOST))}{' '}
        <span class="quiet">{showUnseen(oneLine(options.join(' · '), MOST))}</span>
      </>
    );
  }
  const change = kind === 'edit' ? changeOf(tool, input) : null;
  if (change === null) return <code>{showUnseen(oneLine(summarizeCall(approval).what, MOST))}</code>;
  const { lines, left } = diffRows(change.before, change.after);
  const count = (wanted: string): string =>
    `${lines.filter(({ mark }) => mark === wanted).length}${left > 0 ? '…' : ''}`;
  return (
    <>
      {showUnseen(change.path)} <span class="good">{`+${count('+')}`}</span> <span class="bad">{`−${count('-')}`}</span>
    </>
  );
}
