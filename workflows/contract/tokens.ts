// Estimates of tokens where nothing has counted them: four characters to a token, as English text
// and JSON come to on average.

export const CHARACTERS_PER_TOKEN = 4;

export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
