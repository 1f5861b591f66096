// Estimates of tokens where nothing has counted them: four characters to a token, as English text and JSON come to on average.

export function estimateTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
