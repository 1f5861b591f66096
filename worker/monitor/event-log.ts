// Logs a line for each event of a run (O16): at `debug` for events that happen many times in a run,
// at `info` for those that a person may look for, at `warn` for a run that has ended badly. The
// lines hold no words of the conversation.
import { present } from '../../workflows/contract/present.ts';
import { runFields, callerTraceField, type Log, type LogFields } from '../../system/log.ts';
import type { Observation, ObservedPlace, Observe } from '../../store/live/observe.ts';
import { queryIdOf } from '../../workflows/contract/ids.ts';
import type { SeenItem } from '../../workflows/contract/told.ts';

export function observeByLog(log: Log): Observe {
  return (seen) => writeEvent(log, seen);
}

function writeEvent(log: Log, seen: Observation): void {
  switch (seen.kind) {
    case 'model_call': {
      const { model, error, spend, ms } = seen;
      const { input, output, cacheRead, cacheWrite } = spend.usage;
      const tokens = `${input + cacheRead + cacheWrite} tokens in (${cacheRead} cached), ${output} out`;
      const end = error === null ? `answered, ${tokens}` : `failed (${error})`;
      return log('debug', `model call ${model} ${end}, after ${formatSeconds(ms)}`, fieldsOf(seen.about));
    }
    case 'tool_call': {
      const fields = { ...fieldsOf(seen.about), call: seen.callId };
      return log('debug', `tool call ${seen.tool}: ${seen.outcome}, after ${formatSeconds(seen.ms)}`, fields);
    }
    case 'compaction': {
      const sizes = seen.before === null ? '' : `, ${Math.round(seen.before)} → ${Math.round(seen.after ?? 0)} tokens`;
      return log('info', `compaction: ${seen.outcome}${sizes}, after ${formatSeconds(seen.ms)}`, fieldsOf(seen.about));
    }
    case 'alert':
      return seen.failed ? undefined : log('info', `alert "${seen.alert}" told`, fieldsOf(seen.about));
    case 'seen':
      return writeSeen(log, seen.session, seen.seen);
    case 'model_request':
    case 'notes_merge':
    case 'store':
      return undefined;
  }
}

function writeSeen(log: Log, session: string, seen: SeenItem): void {
  const { run, iteration, from, to } = seen;
  const fields = { session, query: queryIdOf(seen.chain, run), run, iteration, ...callerTraceField(seen.traceparent) };
  const time = formatSeconds(to - from);
  switch (seen.kind) {
    case 'iteration':
      return log('debug', `iteration ${iteration}: ${seen.reason}, after ${time}`, fields);
    case 'waited':
      return log(
        'info',
        `the wait for a person about ${seen.tool} (${seen.call}) ended: ${seen.how}, after ${time}`,
        fields,
      );
    case 'parked':
      return log('info', `the run was parked for ${time}`, fields);
    case 'run_ended': {
      const level = seen.bad ? 'warn' : 'info';
      return log(level, `run ${run} ended: ${seen.reason}, ${seen.turns} turns, after ${time}`, fields);
    }
  }
}

function fieldsOf({ iteration, step, attempt, ...run }: ObservedPlace): LogFields {
  return { ...runFields(run), iteration, ...present({ step, attempt }) };
}

const formatSeconds = (ms: number): string => `${(Math.max(0, ms) / 1_000).toFixed(2)} s`;
