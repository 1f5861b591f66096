// Words of a command that a person should see before they allow it. They are marks for the eye and
// judge nothing: a command without one may do harm all the same.

const RISKS: readonly (readonly [says: string, pattern: RegExp])[] = [
  ['removes files', /\brm\b(?:\s+-[a-z]+)*|\bunlink\b|\bshred\b|\s-delete\b|\bgit\s+clean\b/gi],
  ['acts as another user', /\b(?:sudo|doas|su)\b/g],
  [
    'overwrites history or branches',
    /\bgit\s+(?:push|reset\s+--hard|rebase|filter-branch|checkout\s+--)|--force(?:-with-lease)?\b/g,
  ],
  ['runs what it downloads', /\b(?:curl|wget)\b[^\n;]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b/g],
  ['reaches another machine', /\b(?:ssh|scp|rsync|curl|wget|nc|psql|mysql|redis-cli)\b/g],
  [
    'changes what runs elsewhere',
    /\b(?:terraform\s+(?:apply|destroy)|kubectl\s+(?:apply|delete|exec)|helm\s+(?:install|upgrade|uninstall)|docker\s+(?:push|rm|system)|npm\s+publish|gh\s+(?:pr|release)\s+\w+)/g,
  ],
  ['changes a database', /\b(?:drop|truncate|delete\s+from|alter\s+table)\b/gi],
  ['writes to a device or a disk', /\b(?:dd|mkfs(?:\.\w+)?|fdisk)\b|>\s*\/dev\/(?!null|std)/g],
  ['changes who may do what', /\b(?:chmod|chown)\b/g],
  ['ends processes', /\b(?:kill|pkill|killall|shutdown|reboot)\b/g],
];

export type RiskyWord = { readonly from: number; readonly to: number; readonly says: string };

/** Finds the words in the order of the command; of two that overlap the first counts. */
export function findRiskyWords(command: string): readonly RiskyWord[] {
  const found = RISKS.flatMap(([says, pattern]) =>
    [...command.matchAll(pattern)].map(({ index, 0: words }) => ({
      from: index,
      to: index + words.trimEnd().length,
      says,
    })),
  ).toSorted((one, other) => one.from - other.from || other.to - one.to);
  const kept: RiskyWord[] = [];
  for (const word of found) if (word.from >= (kept.at(-1)?.to ?? 0)) kept.push(word);
  return kept;
}
