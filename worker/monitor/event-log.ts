// A line of the log for each event of a run (O16): at `debug` for what happens many times in one,
// at `info` for what a person may look for, at `warn` for a run that has ended badly. No line holds
// what was said.
import { runFields, callerTraceField, type Log, type LogFields } from '../../system/log.ts';
import type { Observation, ObservedPlace, Observe } from '../../store/live/observe.ts';
import { queryIdOf } from '../../workflows/contract/ids.ts';
import type { Seen } from '../../workflows/contract/told.ts';

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
      return log('debug', `model call ${model} ${end}, after ${seconds(ms)}`, fieldsOf(seen.about));
    }
    case 'tool_call': {
      const fields = { ...fieldsOf(seen.about), call: seen.callId };
      return log('debug', `tool call ${seen.tool}: ${seen.outcome}, after ${seconds(seen.ms)}`, fields);
    }
    case 'compaction': {
      const sizes = seen.before === null ? '' : `, ${Math.round(seen.before)} → ${Math.round(seen.after ?? 0)} tokens`;
      return log('info', `compaction: ${seen.outcome}${sizes}, after ${seconds(seen.ms)}`, fieldsOf(seen.about));
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

function writeSeen(log: Log, session: string, seen: Seen): void {
  const { run, iteration, from, to } = seen;
  const fields = { session, query: queryIdOf(seen.chain, run), run, iteration, ...callerTraceField(seen.traceparent) };
  const time = seconds(to - from);
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
  const known = { ...(step === undefined ? {} : { step }), ...(attempt === undefined ? {} : { attempt }) };
  return { ...runFields(run), iteration, ...known };
}

const seconds = (ms: number): string => `${(Math.max(0, ms) / 1_000).toFixed(2)} s`;
