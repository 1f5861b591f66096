// Shows two or three sessions next to each other, and asks for them where none is named.
import { showUnseen } from '../../system/text.ts';
import { isReply } from '../../client/faces/turns.ts';
import type { SessionInfo } from '../../client/faces/types.ts';
import type { Standing } from '../feed/standing.tsx';
import { Layout, htmlOf, Moment } from '../layout.tsx';
import { StateChip } from '../session/head.tsx';
import { readSessionFiles } from '../session/session-files.ts';
import type { PagePorts } from '../ports.ts';
import { CallInput } from '../transcript/call-input.tsx';
import { MarkdownText } from '../text/markdown-view.tsx';
import { compareFigures, type ComparedSession, optionsThatDiffer, partingTurn } from './compare-sessions.ts';

const LETTERS = ['A', 'B', 'C'] as const;
/** Most characters of an answer. */
const SHOWN = 4_000;
const MOST_FILES = 200;

type CompareRequest = {
  readonly a?: string | undefined;
  readonly b?: string | undefined;
  readonly c?: string | undefined;
};

export async function comparePage(
  ports: Pick<PagePorts, 'diffOf' | 'page'>,
  standings: readonly Standing[],
  request: CompareRequest,
): Promise<string> {
  const sessions = await Promise.all(
    standings.map(async (session): Promise<ComparedSession> => {
      const { files } = await readSessionFiles(ports, session);
      return { ...session, files };
    }),
  );
  const { sessions: recent } = await ports.page({ size: OFFERED });
  return htmlOf(
    <Layout
      title="Compare"
      at="compare"
      styles={['session.css', 'timeline.css']}
      scripts={['times.js', 'keys.js', 'session.js']}
    >
      <div class="compare">
        <h1>Compare</h1>
        <form class="row wrap" data-go="/compare">
          {(['a', 'b', 'c'] as const).map((name) => (
            <label class="grow">
              <span>{`Session ${name.toUpperCase()}${name === 'c' ? ' (optional)' : ''}`}</span>
              <input
                name={name}
                value={request[name] ?? ''}
                autocomplete="off"
                spellcheck={false}
                placeholder="s-…"
                list="recent-sessions"
              />
            </label>
          ))}
          <button class="first">Compare</button>
        </form>
        <datalist id="recent-sessions">
          {recent.map(({ session, title }) => (
            <option value={session}>{showUnseen(title)}</option>
          ))}
        </datalist>
        {sessions.length < 2 ? <Choices recent={recent} request={request} /> : <Comparison sessions={sessions} />}
      </div>
    </Layout>,
  );
}

/** Sessions that are offered, the newest. */
const OFFERED = 50;

/** Offers the first session, then the second. */
function Choices({ recent, request }: { readonly recent: readonly SessionInfo[]; readonly request: CompareRequest }) {
  const first = request.a || request.b;
  const offered = recent.filter(({ session }) => session !== first);
  return (
    <>
      <h2>{first ? 'Choose the session to compare it with' : 'Choose the first session'}</h2>
      <ul class="card pad compare-choices">
        {offered.map(({ session, title, startedAt }) => (
          <li class="row">
            <a
              class="cut"
              href={`/compare?${new URLSearchParams(first ? { a: first, b: session } : { a: session }).toString()}`}
            >
              {showUnseen(title) || session}
            </a>
            <small class="far">
              {`${session} · `}
              <Moment at={startedAt} />
            </small>
          </li>
        ))}
      </ul>
    </>
  );
}

type Compared = { readonly sessions: readonly ComparedSession[] };

function Comparison({ sessions }: Compared) {
  const replies = sessions.map(({ items }) => items.all.filter(isReply));
  const parts = partingTurn(replies);
  return (
    <>
      <Heads sessions={sessions} />
      <Figures sessions={sessions} />
      <h2>Options that differ</h2>
      <Options sessions={sessions} />
      <h2>{parts === null ? 'Same replies throughout' : `First difference: reply ${parts + 1}`}</h2>
      {parts === null ? null : (
        <div class="compare-heads">
          {replies.map((each, at) => (
            <section class="card pad" aria-label={`Reply ${parts + 1} of ${LETTERS[at]}`}>
              <PartingReply reply={each[parts]} session={sessions[at]?.seen.session ?? ''} />
            </section>
          ))}
        </div>
      )}
      <h2>Last answers</h2>
      <div class="compare-heads">
        {replies.map((each, at) => (
          <section class="card pad prose said" aria-label={`Last answer of ${LETTERS[at]}`}>
            <MarkdownText text={lastAnswer(each)} />
          </section>
        ))}
      </div>
      <h2>Files changed</h2>
      <FilesOfEach sessions={sessions} />
    </>
  );
}

function Heads({ sessions }: Compared) {
  return (
    <div class="compare-heads">
      {sessions.map((session, at) => (
        <section class="card pad" aria-label={`Session ${LETTERS[at]}`}>
          <p class="row">
            <StateChipOf standing={session} />
            <a class="cut" href={`/sessions/${session.seen.session}`}>
              {showUnseen(session.seen.title || session.seen.session)}
            </a>
          </p>
          <small>
            {`${LETTERS[at]} · ${showUnseen(session.seen.session)} · `}
            <Moment at={session.seen.startedAt} />
          </small>
        </section>
      ))}
    </div>
  );
}

function Figures({ sessions }: Compared) {
  return (
    <table>
      <thead>
        <tr>
          <th>Metric</th>
          <LetterHeads sessions={sessions} isNumber />
          {sessions.slice(1).map((_, at) => (
            <th class="number">{`${LETTERS[at + 1]} vs. A`}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {compareFigures(sessions).map(({ name, values, against }) => (
          <tr>
            <td>{name}</td>
            {values.map((value) => (
              <td class="number">{value}</td>
            ))}
            {against.map(({ words, kind }) => (
              <td class={`number ${kind}`}>{words}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LetterHeads({ sessions, isNumber = false }: Compared & { readonly isNumber?: boolean }) {
  return (
    <>
      {sessions.map((_, at) => (
        <th class={isNumber ? 'number' : undefined}>{LETTERS[at]}</th>
      ))}
    </>
  );
}

function Options({ sessions }: Compared) {
  const options = optionsThatDiffer(sessions.map(({ config }) => config));
  if (options.length === 0) return <p class="quiet">None.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>Option</th>
          <LetterHeads sessions={sessions} />
        </tr>
      </thead>
      <tbody>
        {options.map(({ name, values }) => (
          <tr>
            <td>{name}</td>
            {values.map((value) => (
              <td>{showUnseen(value.slice(0, 300))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function FilesOfEach({ sessions }: Compared) {
  return (
    <div class="compare-heads">
      {sessions.map(({ files, seen: description }, at) => (
        <section class="card pad" aria-label={`Files of ${LETTERS[at]}`}>
          {files.length === 0 ? <p class="quiet">None.</p> : null}
          <ul>
            {files.slice(0, MOST_FILES).map(({ path }) => (
              <li>
                <a href={`/sessions/${description.session}/files?file=${encodeURIComponent(path)}`}>
                  <code>{showUnseen(path)}</code>
                </a>
              </li>
            ))}
          </ul>
          {files.length > MOST_FILES ? <p class="quiet">{`${files.length - MOST_FILES} more`}</p> : null}
        </section>
      ))}
    </div>
  );
}

/** The chip has an id on the page of its session; here there are several. */
function StateChipOf({ standing }: { readonly standing: Standing }) {
  return <StateChip standing={standing} named={false} />;
}

type Replies = ReturnType<Standing['items']['reply']>;

function PartingReply({ reply, session }: { readonly reply: Replies; readonly session: string }) {
  if (!reply) return <p class="quiet">Already ended</p>;
  return (
    <>
      <p>
        <a
          href={`/sessions/${session}?at=${reply.anchor.split('-').slice(0, 2).join('.')}#it-${reply.anchor}`}
        >{`#${reply.entry.iteration}`}</a>
      </p>
      {reply.entry.message.content.map((block) =>
        block.type === 'text' ? (
          <div class="prose said">
            <MarkdownText text={block.text.slice(0, SHOWN)} />
          </div>
        ) : block.type === 'tool_use' ? (
          <>
            <b class="tool">{showUnseen(block.name.slice(0, 80))}</b>
            <CallInput name={block.name} input={block.input} />
          </>
        ) : null,
      )}
    </>
  );
}

function lastAnswer(replies: readonly NonNullable<Replies>[]): string {
  const texts = replies.at(-1)?.entry.message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return (texts?.join('\n\n') || '(no answer)').slice(0, SHOWN);
}
