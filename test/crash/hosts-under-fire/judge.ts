// What must hold when all hosts are back and all sessions have ended, each as a row with its counts.
import { readHostRecords } from '../../../activities/hosts/host-record.ts';
import { verifyTranscript } from '../../../store/log/audit.ts';
import { lastSnapshots } from '../../../store/snapshots/snapshot-points.ts';
import type { Store } from '../../../store/values/store.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { SessionHost, SessionMemo } from '../../../workflows/contract/session.ts';
import type { Driven } from './drive.ts';
import { DATA, type Host } from './host.ts';
import { EFFECTS } from './plans.ts';
import type { Row } from './report.ts';
import type { Effect } from './services.ts';
import { type Call, firstHostIn, type Hop, type Story, tellStory } from './story.ts';

/** What is known of a transcript at the end, that of a session or of one of its agents. */
type Told = {
  readonly name: string;
  readonly story: Story;
  /** What verifying the whole of it has found. */
  readonly problems: readonly string[];
  readonly entries: number;
};

/** What is known of one session at the end. */
type Ended = Told & {
  readonly driven: Driven;
  readonly agents: readonly Told[];
  readonly host: Host | undefined;
  /** Lines of the file that effects write to. */
  readonly lines: readonly string[];
  /** How the folder differs from the last snapshot. */
  readonly differences: readonly string[];
  /** Moves as the store has them, those of agents with the others. */
  readonly records: readonly Hop[];
};

/** An agent's session, as the server shows it, with the one that it worked for. */
export type AgentOf = { readonly driven: Driven; readonly id: SessionId; readonly memo: SessionMemo };

export type Evidence = {
  readonly sessions: readonly Driven[];
  readonly agents: readonly AgentOf[];
  readonly hosts: readonly Host[];
  readonly store: Store;
  readonly effects: readonly Effect[];
};

export async function judge(evidence: Evidence): Promise<readonly Row[]> {
  const ended: Ended[] = [];
  for (const driven of evidence.sessions) ended.push(await examine(evidence, driven));
  return [
    judgeEnds(ended),
    judgeEffects(ended, evidence.effects),
    judgeMessages(ended),
    judgeFolders(ended),
    judgeLines(ended, evidence.effects),
    judgeHosts(ended, evidence),
    judgeMoves(ended),
    judgeTranscripts(ended),
  ];
}

async function examine(evidence: Evidence, driven: Driven): Promise<Ended> {
  const { hosts, store } = evidence;
  const { head, host: at } = await driven.memo();
  const name = `${driven.name} (${driven.id})`;
  const { segments, ...told } = await readTold(store, { id: driven.id, name, head, host: driven.firstHost });
  const host = findHost(hosts, at);
  const snapshot = lastSnapshots(segments.flatMap(({ segment }) => segment.entries)).get(driven.cwd);
  const { records } = await readHostRecords(store, driven.id);
  const agents: Told[] = [];
  for (const { id, memo } of evidence.agents.filter((one) => one.driven === driven))
    agents.push(await readTold(store, { id, name: `an agent of ${driven.name} (${id})`, head: memo.head }));
  return {
    ...told,
    driven,
    agents,
    host,
    lines: host ? await readLines(host, driven) : [],
    differences: host && snapshot ? await compareFolder(host, driven, snapshot) : ['there is no host or no snapshot'],
    records: records.map(({ from, host: to }) => ({ from, to: to.id })),
  };
}

type Transcript = { readonly id: SessionId; readonly name: string; readonly head: Hash | null; readonly host?: string };

/** `host`: where it began; absent for an agent, whose transcript says it. */
async function readTold(store: Store, { id, name, head, host }: Transcript) {
  const { problems, chain, entries } = await verifyTranscript(store, id, head);
  const segments = chain ?? [];
  return {
    name,
    segments,
    story: tellStory(segments, host ?? firstHostIn(segments)),
    problems: problems.map(({ entry, problem }) => `entry ${entry}: ${problem}`),
    entries,
  };
}

const toldBy = (all: readonly Ended[]): readonly Told[] => all.flatMap((one) => [one, ...one.agents]);
const callsOf = ({ story, agents }: Ended): readonly Call[] =>
  [story, ...agents.map((one) => one.story)].flatMap((one) => one.calls);

const findHost = (hosts: readonly Host[], at: SessionHost | undefined): Host | undefined =>
  hosts.find(({ name }) => name === at?.id);

async function readLines(host: Host, { cwd }: Driven): Promise<readonly string[]> {
  const text = await host.run('sh', '-c', 'if [ -e "$1" ]; then cat "$1"; fi', 'sh', `${cwd}/${EFFECTS}`);
  return text.split('\n').filter(Boolean);
}

const LIST_FOLDER = `cd "$1" && find . -type f -printf '%P\\n' | LC_ALL=C sort >/srv/tmp/names &&
  git hash-object --no-filters --stdin-paths </srv/tmp/names | paste - /srv/tmp/names`;

/** By git itself, not by the product: the tree of the snapshot against what lies in the folder. */
async function compareFolder(host: Host, { cwd }: Driven, snapshot: string): Promise<readonly string[]> {
  const tree = await host.run('git', `--git-dir=${DATA}/snapshots`, 'ls-tree', '-r', `${snapshot}:files`);
  const stored = new Set(
    tree
      .split('\n')
      .filter(Boolean)
      .map((line) => line.replace(/^\d+ blob /, '')),
  );
  const folder = new Set((await host.run('sh', '-c', LIST_FOLDER, 'sh', cwd)).split('\n').filter(Boolean));
  const [missing, more] = [
    [...stored].filter((one) => !folder.has(one)),
    [...folder].filter((one) => !stored.has(one)),
  ];
  return [
    ...missing.map((one) => `in the snapshot alone: ${one}`),
    ...more.map((one) => `in the folder alone: ${one}`),
  ];
}

const about = ({ name }: Told, what: string): string => `${name}: ${what}`;

function judgeEnds(all: readonly Ended[]): Row {
  const ends = all.flatMap(({ story }) => story.ends);
  const faults = all.flatMap((one) =>
    one.story.ends.filter((end) => end !== 'completed').map((end) => about(one, `a run ended with ${end}`)),
  );
  const failed = all.flatMap(({ driven }) => driven.failed.map((why) => `a command failed: ${why}`));
  const agents = all.flatMap((one) => one.agents);
  const away = agents.filter(({ story }) => story.ends.some((end) => end !== 'completed'));
  const moves = all.reduce((sum, { driven }) => sum + driven.moves, 0);
  const unbegun = agents.filter(({ story }) => story.calls.length === 0);
  return {
    claim: 'all sessions end, and each run as completed; an agent only where nothing of it was stored',
    counts:
      `${all.length} sessions, ${ends.length} runs, ${all.flatMap(callsOf).length} calls; ` +
      `${agents.length} agents, of which ${away.length} ended with their host before their first step; ` +
      `${moves} moves at will accepted`,
    faults: [
      ...faults,
      ...failed,
      ...away
        .filter((one) => !unbegun.includes(one))
        .map((one) => about(one, `it ended with ${one.story.ends.join()}`)),
    ],
  };
}

function judgeEffects(all: readonly Ended[], effects: readonly Effect[]): Row {
  const known = new Map(all.flatMap(callsOf).map((call) => [call.effect, call] as const));
  const noted = new Set(effects.map(({ id }) => id));
  const answered = [...known.values()].filter(({ effect }) => effect !== null);
  const isOk = ({ outcome }: Call): boolean => outcome?.log.outcome === 'ok';
  const unknown = answered.filter(({ outcome }) => outcome?.log.outcome === 'unknown');
  const failed = answered.filter(({ outcome }) => outcome?.log.outcome === 'error');
  const strays = [...noted].filter((id) => !known.has(id));
  const happened = (calls: readonly Call[]): number => calls.filter(({ effect }) => noted.has(effect ?? '')).length;
  return {
    claim: 'no effect happens twice, and none that was answered is missing',
    counts:
      `${effects.length} effects; ${unknown.length} calls reported as unknown, of which ${happened(unknown)} took effect; ` +
      `${failed.length} failed, of which ${happened(failed)} took effect; ${strays.length} of replies that were never stored`,
    faults: [
      ...findRepeated(effects.map(({ id }) => id)).map((id) => `${id} happened twice`),
      ...answered
        .filter((call) => isOk(call) && !noted.has(call.effect ?? ''))
        .map(({ effect }) => `${effect} is missing`),
    ],
  };
}

function judgeMessages(all: readonly Ended[]): Row {
  const faults = all.flatMap((one) => {
    const { messages } = one.story;
    const lost = one.driven.acknowledged.filter((text) => !messages.includes(text));
    return [
      ...lost.map((text) => about(one, `"${text}" is lost`)),
      ...findRepeated(messages).map((text) => about(one, `"${text}" is there twice`)),
    ];
  });
  const count = all.reduce((sum, { driven }) => sum + driven.acknowledged.length, 0);
  return { claim: 'each acknowledged message is in the transcript, once', counts: `${count} messages`, faults };
}

function judgeFolders(all: readonly Ended[]): Row {
  const faults = all.flatMap((one) => one.differences.map((difference) => about(one, difference)));
  return { claim: 'each folder equals its last snapshot', counts: `${all.length} folders`, faults };
}

/** What a model has read as done is in the folder, unless a later move lost it and says so. */
function judgeLines(all: readonly Ended[], effects: readonly Effect[]): Row {
  const times = new Map(effects.map(({ id, at }) => [id, at]));
  const faults = all.flatMap((one) => {
    const lines = new Set(one.lines);
    const isTold = ({ effect, outcome, isLost }: Call): boolean =>
      isLost || isLostWith(one.story, times.get(effect ?? '') ?? 0, outcome?.log.duration ?? 0);
    const isMissing = ({ effect, outcome }: Call): boolean =>
      effect !== null && outcome?.log.outcome === 'ok' && !lines.has(effect);
    const missing = [
      ...one.story.calls.filter((call) => isMissing(call) && !call.isLost),
      ...one.agents.flatMap(({ story }) => story.calls.filter((call) => isMissing(call) && !isTold(call))),
    ];
    const known = new Set(callsOf(one).map(({ effect }) => effect));
    return [
      ...missing.map(({ effect }) => about(one, `the line of ${effect} is lost, and no move says so`)),
      ...findRepeated(one.lines).map((line) => about(one, `the line of ${line} is there twice`)),
      ...one.lines
        .filter((line) => !known.has(line))
        .map((line) => about(one, `nobody has asked for the line ${line}`)),
    ];
  });
  const lines = all.reduce((sum, one) => sum + one.lines.length, 0);
  const lost = all.flatMap(callsOf).filter(({ isLost, effect }) => isLost && effect !== null).length;
  const counts = `${lines} lines; ${lost} effects after the last capture before a move`;
  return { claim: 'each answered change is in its folder, or a move has named it', counts, faults };
}

/**
 * Tells whether a session was told by a move that what an agent of it did at that time is not among
 * its files: they are older, and the next capture is younger. The line is written after the ledger
 * has noted the effect, while the call runs.
 */
function isLostWith({ moves, captures }: Story, at: number, duration: number): boolean {
  return moves.some(({ notice, captured }) => notice.at < at + duration && at < (captures[captured]?.at ?? Infinity));
}

function judgeHosts(all: readonly Ended[], { hosts, effects }: Evidence): Row {
  const names = new Map(hosts.map(({ address, name }) => [address, name]));
  const makers = new Map(effects.map(({ id, from }) => [id, names.get(from) ?? from]));
  const stories = all.flatMap((one) => [one, ...one.agents].map((told) => ({ told, records: one.records })));
  const faults = stories.flatMap(({ told: one, records }) => {
    const { calls, captures, moves } = one.story;
    const path = moves.map(({ notice: { from, to } }) => ({ from, to }));
    return [
      ...captures.filter(({ by, host }) => by !== host).map(({ by, host }) => about(one, `${by} captured for ${host}`)),
      ...moves
        .filter(({ notice, host }) => notice.from !== host)
        .map(({ notice, host }) => about(one, `it left ${notice.from} while ${host} had it`)),
      ...calls.flatMap(({ effect, hosts: may }) => {
        const by = effect === null ? undefined : makers.get(effect);
        return by === undefined || may.has(by)
          ? []
          : [about(one, `${by} made ${effect}, which was for ${[...may].join(', ')}`)];
      }),
      ...(isAlong(path, records)
        ? []
        : [about(one, `its store has the moves ${showHops(records)}, its transcript ${showHops(path)}`)]),
    ];
  });
  const captures = toldBy(all).reduce((sum, { story }) => sum + story.captures.length, 0);
  const counts = `${captures} captures, ${makers.size} effects, each by the host that had the session`;
  return { claim: 'no host that has lost a session goes on with it', counts, faults };
}

const showHops = (hops: readonly Hop[]): string => hops.map(({ from, to }) => `${from} > ${to}`).join() || 'none';

/**
 * Tells whether moves of one transcript are those of the store: those of a session and its agents
 * lie there together, and one that follows the others takes several at once.
 */
function isAlong(path: readonly Hop[], records: readonly Hop[]): boolean {
  const [first, ...later] = path;
  if (!first) return true;
  return records.some((record, at) => {
    if (record.from !== first.from) return false;
    let host: string = first.from;
    for (let next = at; records[next]?.from === host; next += 1) {
      host = records[next]?.to ?? host;
      if (host === first.to && isAlong(later, records.slice(next + 1))) return true;
    }
    return false;
  });
}

/** The most names in a notice. */
const MOST_NAMES = 20;

function judgeMoves(all: readonly Ended[]): Row {
  const moves = toldBy(all).flatMap(({ story }) => story.moves);
  const faults = toldBy(all).flatMap((one) =>
    one.story.moves.flatMap(({ notice, uncaptured }) => {
      const expected = uncaptured.slice(0, MOST_NAMES).join();
      return notice.calls.join() === expected
        ? []
        : [about(one, `a move names "${notice.calls.join()}" as lost, and lost are "${expected}"`)];
    }),
  );
  const ofKind = (because: string): number => moves.filter(({ notice }) => notice.because === because).length;
  const naming = moves.filter(({ notice }) => notice.calls.length > 0).length;
  return {
    claim: 'each move names the calls whose changes it has lost',
    counts: `${moves.length} moves (${ofKind('away')} away, ${ofKind('emptied')} emptied, ${ofKind('moved')} at will), ${naming} of which name calls`,
    faults,
  };
}

function judgeTranscripts(all: readonly Ended[]): Row {
  const faults = toldBy(all).flatMap((one) => one.problems.map((problem) => about(one, problem)));
  const entries = toldBy(all).reduce((sum, one) => sum + one.entries, 0);
  return { claim: 'each transcript is sound', counts: `${entries} entries`, faults };
}

function findRepeated(all: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return all.filter((one) => seen.has(one) || !seen.add(one));
}
