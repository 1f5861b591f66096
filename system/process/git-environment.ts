// The environment in which we run git: no configuration of the machine or of a person, no network,
// no prompt, and an author of our own.

const AUTHOR = { NAME: 'Perdure', EMAIL: 'perdure@localhost' };

export function gitEnvironment(): Readonly<Record<string, string>> {
  const people = ['AUTHOR', 'COMMITTER'].flatMap((who) =>
    Object.entries(AUTHOR).map(([what, value]) => [`GIT_${who}_${what}`, value] as const),
  );
  return {
    ...Object.fromEntries(people),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C.UTF-8',
  };
}
