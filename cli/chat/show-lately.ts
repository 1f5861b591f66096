// Shows what was said last in a session that a person comes back to: the end of its transcript up
// to the last run that ended.
import { transcriptHeading, transcriptText } from '../render/transcript.ts';
import type { SessionReading } from '../../client/faces/types.ts';
import type { Cli } from '../cli.ts';

const LINES = 24;

export function showLately(cli: Cli, whole: SessionReading): void {
  const reading = withoutCurrentRun(whole);
  const { session } = reading.description;
  const heading = transcriptHeading(cli.out, reading);
  const lines = transcriptText(cli.out, reading).slice(heading.length).trim().split('\n');
  const left = lines.length - LINES;
  const before = left > 0 ? [cli.out.dim(`(${left} lines before: ${cli.self} show ${session})`)] : [];
  cli.print(`${[heading, ...before, ...lines.slice(-LINES)].join('\n')}\n`);
}

/** Drops a run under way, which its follower shows from the beginning. */
function withoutCurrentRun(reading: SessionReading): SessionReading {
  const { entries, description } = reading;
  const end = entries.findLastIndex(({ kind }) => kind === 'run_ended');
  const phase = description.status === 'open' ? 'idle' : description.phase;
  return { ...reading, entries: entries.slice(0, end + 1), description: { ...description, phase } };
}
