// Joins the loop's calls to the executor: traits for the machine, early runs beside the stream, claimed runs as activities, and
// what watchers see of each.
import { createHash } from 'node:crypto';
import type { CallPort, CallRunner } from '../deps.ts';
import { processIdentity } from '../process-identity.ts';
import { toolEnd } from '../live/retell.ts';
import type { EarlyOutcome } from '../model/early.ts';
import type { CallBlock } from '../model/judge.ts';
import type { RunConfig } from '../run-config.ts';
import type { Store } from '../transcript/store.ts';
import { attemptSignal } from './attempt-signal.ts';
import { executeCall, executeEarly, type CallRequest, type Executed, type Workbench } from './execute.ts';
import { prepareCall } from './prepare.ts';
import type { ToolRegistry } from './registry.ts';

export function callRunner(store: Store, registry: ToolRegistry): CallRunner {
  const host = processIdentity();
  const bench = ({ mode, permissions = {}, cwd, session, queryId, depth }: RunConfig): Workbench => {
    return { registry, mode, permissions, cwd, store, session, host, queryId, depth };
  };
  return {
    definitions: registry.definitions(),
    traits(config, call) {
      const prepared = prepareCall(registry, config, call);
      const ready = prepared.kind === 'ready';
      // A call that its name or input keeps from running changes nothing.
      const safe = !ready || prepared.safe;
      return { safe, early: ready && safe && prepared.permission.kind === 'allow', signature: signature(call) };
    },
    early(config, call, id, port) {
      return watched(call, port, true, async (progress) => {
        const ready = prepareCall(registry, config, call);
        if (ready.kind === 'invalid') throw new Error(`${call.name} was started early although ${ready.text}`);
        return executeEarly(bench(config), request(call), ready, { id, signal: port.signal, progress });
      });
    },
    async claimed(config, call, key, attempt, port) {
      const signal = attemptSignal(attempt);
      const done = await watched(call, port, false, (progress) =>
        executeCall(bench(config), request(call), { key, attempt: attempt.number, signal, progress }),
      );
      if (!done) throw new Error(`the attempt of ${call.name} was given up: ${attempt.abortedBy() ?? 'unknown'}`);
      return done;
    },
  };
}

const request = ({ index, id, name, input }: CallBlock): CallRequest => ({ index, toolUseId: id, name, input });

/** Tells the same call made again (L34). Short: it is part of every call's facts in the history. */
function signature({ name, input }: CallBlock): string {
  return createHash('sha256')
    .update(JSON.stringify([name, input]))
    .digest('base64url')
    .slice(0, 12);
}

/** Null when the attempt was given up and nothing of it counts. */
async function watched(
  { index, name }: CallBlock,
  { iteration, say }: CallPort,
  early: boolean,
  run: (progress: (text: string) => void) => Promise<Executed>,
): Promise<EarlyOutcome | null> {
  say({ type: 'tool_start', iteration, index, name, early });
  const done = await run((text) => say({ type: 'tool_progress', iteration, index, text }));
  if (done.kind === 'void') return null;
  const { outcome, facts } = done;
  const { isError, content, log } = outcome;
  say(toolEnd(iteration, { index, name, isError, content, durationMs: log.duration }));
  return { outcome, facts };
}
