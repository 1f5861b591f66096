// Lone surrogates make a request unreadable for the API (L58): they become U+FFFD, wherever they stand in a JSON value.

/** The value itself when there is nothing to replace. */
export function wellFormed<T>(value: T): T {
  const json = JSON.stringify(value);
  // JSON.stringify escapes a surrogate only when it is alone.
  if (!json.includes('\\ud')) return value;
  return JSON.parse(json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, replaced)) as T;
}

/** Other escapes stay, an escaped backslash before "ud" among them. */
function replaced(escape: string): string {
  return escape.startsWith('\\ud') ? '\\ufffd' : escape;
}
