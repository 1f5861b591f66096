// Shows the background commands of a session (L84), with the last lines of each.
import { onOneLine, showUnseen } from '../../system/text.ts';
import type { BackgroundCommand } from '../../client/sessions/history/background.ts';
import { Moment } from '../layout.tsx';

/** Most characters of a command. */
const SHOWN = 160;

export function BackgroundList({ commands }: { readonly commands: readonly BackgroundCommand[] }) {
  return (
    <section id="background" aria-label="Commands in the background">
      <ul class="background">
        {commands.map((command) => (
          <li>
            <BackgroundItem command={command} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function BackgroundItem({ command }: { readonly command: BackgroundCommand }) {
  const { id, run, startedAt, endedAt, running, state, last } = command;
  return (
    <>
      <span class={`dot ${running ? 'busy' : 'quiet'}`}>{showUnseen(state)}</span>{' '}
      <code>{showUnseen(onOneLine(command.command).slice(0, SHOWN))}</code>{' '}
      <small>
        {`${id}, of `}
        <a href={`#run-${run}`}>{`run ${run}`}</a>
        {startedAt === null ? null : (
          <>
            {', since '}
            <Moment at={startedAt} />
          </>
        )}
        {endedAt === null ? null : (
          <>
            {', ended '}
            <Moment at={endedAt} />
          </>
        )}
      </small>
      {last === '' ? null : (
        <details id={`last-${id}`}>
          <summary>Last lines</summary>
          <pre class="said">{showUnseen(last)}</pre>
        </details>
      )}
    </>
  );
}
