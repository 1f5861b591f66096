// Finds the parts of a command that a person should see before they allow it. Whether a command
// runs another is judged as for rules that deny or ask (L55), however it is spelled; in doubt it
// does.
import { RecentMap } from '../../system/recent-map.ts';
import { createTouchTest, parseShell } from '../../client/faces/rules.ts';

type RiskyText = { readonly says: string; readonly text: RegExp };

type Risk = {
  readonly says: string;
  /** Patterns of rules, of which the command touches one. */
  readonly commands: readonly string[];
  /** Tells whether the text has what belongs to it as well. */
  readonly having?: (text: string) => boolean;
};

/** A redirection belongs to no command. */
const TO_DEVICE: RiskyText = { says: 'writes to a device or a disk', text: />\s*\/dev\/(?!null|std|tty|fd)\S*/g };

const openPatterns = (names: string): readonly string[] => names.split(/, */).map((name) => `${name}:*`);

/** The most urgent first: lists have room for one. */
const RISKS: readonly Risk[] = [
  { says: 'removes files', commands: openPatterns('rm, rmdir, unlink, shred, git clean, git rm') },
  { says: 'removes files', commands: openPatterns('find'), having: (text) => /\s-delete\b/.test(text) },
  {
    says: 'runs what it downloads',
    commands: openPatterns('curl, wget'),
    having: (text) => text.includes('<(') || text.split('|').slice(1).some(startsInterpreter),
  },
  { says: 'acts as another user', commands: openPatterns('sudo, doas, su, pkexec, runuser') },
  {
    says: 'overwrites history or branches',
    commands: openPatterns('git push, git reset, git rebase, git filter-branch, git checkout --, git restore'),
  },
  {
    says: 'changes a database',
    commands: openPatterns('psql, mysql, mariadb, sqlite3, mongosh, redis-cli'),
    having: (text) => /\b(?:drop|truncate|delete|alter|update|insert|flush\w*)\b/i.test(text),
  },
  {
    says: 'changes what runs elsewhere',
    commands: openPatterns(
      'terraform apply, terraform destroy, kubectl apply, kubectl delete, kubectl exec, helm install, helm upgrade, helm uninstall, docker push, docker rm, docker system, npm publish, gh pr, gh release',
    ),
  },
  {
    says: 'reaches another machine',
    commands: openPatterns('ssh, scp, rsync, curl, wget, nc, psql, mysql, redis-cli'),
  },
  { says: 'writes to a device or a disk', commands: openPatterns('dd, mkfs, mkfs.ext4, mkfs.xfs, fdisk, parted') },
  { says: 'changes permissions', commands: openPatterns('chmod, chown, chgrp, setfacl') },
  { says: 'ends processes', commands: openPatterns('kill, pkill, killall, shutdown, reboot') },
];

/** Tells whether a command runs what it is given, by itself or through another. */
function startsInterpreter(command: string): boolean {
  const words = command.trimStart().split(/\s+/);
  const name = words.find((word) => !['sudo', 'doas', 'env', 'exec'].includes(word)) ?? '';
  return /^(?:(?:ba|z|da|k)?sh\b|python|node|perl|ruby)/.test(name.slice(name.lastIndexOf('/') + 1));
}

const UNREADABLE = 'may run any command';
/** No command has this name: a test that says yes says so of every name. */
const NO_NAME = '\u0000';
const MOST_JUDGED = 500;

export type RiskyWord = { readonly from: number; readonly to: number; readonly says: string };
type CommandRisks = {
  /** Possible effects of the command, as words behind "it". */
  readonly says: readonly string[];
  /** Where the command names it, in its order; nowhere, when it is spelled in another way. */
  readonly words: readonly RiskyWord[];
};

const verdicts = new RecentMap<string, CommandRisks>(MOST_JUDGED);

export function judgeCommand(command: string): CommandRisks {
  const known = verdicts.get(command);
  if (known) return known;
  const found = judge(command);
  verdicts.set(command, found);
  return found;
}

function judge(text: string): CommandRisks {
  const touches = createTouchTest({ kind: 'command', text, commands: parseShell(text), readsOnly: () => false });
  if (touches(NO_NAME)) return { says: [UNREADABLE], words: [] };
  const commands = RISKS.filter(({ having }) => having?.(text) ?? true).flatMap(({ says, commands: patterns }) =>
    patterns.filter(touches).map((pattern) => ({ says, text: namesOf(pattern) })),
  );
  const risks = text.search(TO_DEVICE.text) < 0 ? commands : [...commands, TO_DEVICE];
  return { says: [...new Set(risks.map(({ says }) => says))], words: findWords(text, risks) };
}

/** Finds the names in the order of the command; of two that overlap the longer counts. */
function findWords(command: string, risks: readonly RiskyText[]): readonly RiskyWord[] {
  const found = risks
    .flatMap(({ says, text }) =>
      [...command.matchAll(text)].map(({ index, 0: { length } }) => ({ from: index, to: index + length, says })),
    )
    .toSorted((one, other) => one.from - other.from || other.to - one.to);
  const accepted: RiskyWord[] = [];
  for (const word of found) if (word.from >= (accepted.at(-1)?.to ?? 0)) accepted.push(word);
  return accepted;
}

/** The name with the words that belong to it, options between them, and the options after it. */
function namesOf(pattern: string): RegExp {
  const words = pattern.replace(/:\*$/, '').split(' ');
  return new RegExp(`(?<![\\w.-])${words.join('(?:\\s+-\\S+(?:\\s+\\S+)??)*?\\s+')}(?![\\w.-])(?:\\s+-[\\w-]+)*`, 'g');
}
