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
        // What Node's own modules do is what their callers do, and the test runner calls them too.
        if (url.startsWith('node:')) continue;
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

const STRETCH = 15;
const [EARLY, LATE] = [40, 140];
/** More calls in a stretch, which is one for each fifth turn before it. */
const GROWTH = (STRETCH * (LATE - EARLY)) / 5;

/** What was called in the late turns: the functions that early ones call less often, and how many there were. */
export type GrownCalls = { readonly grown: readonly string[]; readonly called: number };

/** Takes turns one after the other, from the turn `first` on, and counts calls in an early and a late stretch. */
export async function countTurns(turn: (n: number) => Promise<void>, first = 0): Promise<GrownCalls> {
  const counting = startCounting();
  try {
    const stretch = async (from: number): Promise<Counts> => {
      counting.look();
      for (let n = from; n < from + STRETCH; n += 1) await turn(n);
      return counting.look();
    };
    for (let n = first; n < EARLY; n += 1) await turn(n);
    const early = await stretch(EARLY);
    for (let n = EARLY + STRETCH; n < LATE; n += 1) await turn(n);
    const late = await stretch(LATE);
    return { grown: findGrown(early, late, GROWTH), called: late.size };
  } finally {
    counting.stop();
  }
}
