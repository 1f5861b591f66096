// Counts, as V8 does, how often functions of the product are called in this process. Work that is
// done once for each turn of a session shows here whatever else the machine does.
import { Session } from 'node:inspector';
import { relative } from 'node:path';

const root = new URL('../..', import.meta.url).pathname;

type Coverage = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
};

export type Counts = ReadonlyMap<string, number>;

export type Counting = {
  /** Calls of each function of the product since the last look. */
  look(): Counts;
  stop(): void;
};

export function startCounting(): Counting {
  const session = new Session();
  session.connect();
  const ask = (method: string, params: object = {}): unknown => {
    let answer: unknown;
    session.post(method, params, (error, result) => {
      if (error) throw error;
      answer = result;
    });
    return answer;
  };
  ask('Profiler.enable');
  ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return {
    look: () => {
      const counts = new Map<string, number>();
      for (const { url, functions } of (ask('Profiler.takePreciseCoverage') as Coverage).result) {
        const file = relative(root, url.replace(/^file:\/\//, ''));
        if (file.startsWith('..') || /^(test|node_modules|scripted-model)\//.test(file)) continue;
        for (const { functionName, ranges } of functions)
          counts.set(`${file} ${functionName} ${ranges[0]?.startOffset}`, ranges[0]?.count ?? 0);
      }
      return counts;
    },
    stop: () => {
      ask('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}

/** Returns the functions that are called at least `more` times more often in `late` than in `early`. */
export function findGrown(early: Counts, late: Counts, more: number): readonly string[] {
  return [...late].flatMap(([of, count]) => {
    const before = early.get(of) ?? 0;
    return count - before >= more ? [`${of}: ${before} and then ${count}`] : [];
  });
}
