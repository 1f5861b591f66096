// Keys on a layout without Latin letters. A terminal sends the letter and not the place of the key,
// and layouts differ: the key of `n` gives `т` on one Cyrillic layout and `н` on another, where `н`
// is `y` on the first. A letter counts only where all layouts that have it mean the same.

const KEYS = 'qwertyuiopasdfghjklzxcvbnm';

/** Letters of the keys, in the order of KEYS; a blank where a key gives none of its own. */
const LAYOUTS: readonly string[] = [
  // Russian.
  'йцукенгшщзфывапролдячсмить',
  // Ukrainian.
  'йцукенгшщзфівапролдячсмить',
  // Bulgarian.
  ' уеишщксдзьяаожгтнвюйъэфхп',
  // Bulgarian, phonetic.
  'явертъуиопасдфгхйклзьцжбнм',
  // Russian, phonetic.
  'яшертыуиопасдфгчйклзхцвбнм',
  // Serbian.
  'љњертзуиопасдфгхјклѕџцвбнм',
  // Greek.
  ' ςερτυθιοπασδφγηξκλζχψωβνμ',
  // Hebrew.
  '  \u05e7\u05e8\u05d0\u05d8\u05d5\u05df\u05dd\u05e4\u05e9\u05d3\u05d2\u05db\u05e2\u05d9\u05d7\u05dc\u05da\u05d6\u05e1\u05d1\u05d4\u05e0\u05de\u05e6',
  // Arabic.
  '\u0636\u0635\u062b\u0642\u0641\u063a\u0639\u0647\u062e\u062d\u0634\u0633\u064a\u0628\u0644\u0627\u062a\u0646\u0645\u0626\u0621\u0624\u0631 \u0649\u0629',
  // Persian.
  '\u0636\u0635\u062b\u0642\u0641\u063a\u0639\u0647\u062e\u062d\u0634\u0633\u06cc\u0628\u0644\u0627\u062a\u0646\u0645\u0638\u0637\u0632\u0631\u0630\u062f\u067e',
  // Korean.
  'ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡ',
  // Thai.
  '\u0e46\u0e44\u0e33\u0e1e\u0e30\u0e31\u0e35\u0e23\u0e19\u0e22\u0e1f\u0e2b\u0e01\u0e14\u0e40\u0e49\u0e48\u0e32\u0e2a\u0e1c\u0e1b\u0e41\u0e2d\u0e34\u0e37\u0e17',
];

/** The digits 0 of Arabic, Persian, Devanagari and Thai; the others follow them. */
const ZEROS = [0x660, 0x6f0, 0x966, 0xe50];

/**
 * Returns the key that a typed character means among those that are `known`, in lower case. Null
 * when it means none of them, or one on one layout and another on the next.
 */
export function latinKey(typed: string, known: (key: string) => boolean): string | null {
  const letter = typed.toLowerCase();
  const meant = new Set(/^[\0-\x7f]*$/.test(letter) ? [letter] : readingsOf(letter));
  const [key, another] = [...meant].filter(known);
  return key === undefined || another !== undefined ? null : key;
}

/** Tells whether a character is a letter of another script: no key of a Latin keyboard. */
export const isForeignLetter = (typed: string): boolean => /^(?!\p{Script=Latin})[\p{L}\p{M}]/u.test(typed);

function readingsOf(letter: string): readonly string[] {
  const code = letter.codePointAt(0) ?? 0;
  const digits = ZEROS.filter((zero) => code >= zero && code <= zero + 9).map((zero) => String(code - zero));
  const letters = LAYOUTS.flatMap((layout) => {
    const at = layout.indexOf(letter);
    return at < 0 ? [] : [KEYS.charAt(at)];
  });
  return [...digits, ...letters];
}
