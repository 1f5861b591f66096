// Estimates tokens where nothing has counted them: four characters a token, the average of English
// text and JSON.

export const CHARACTERS_PER_TOKEN = 4;

export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
