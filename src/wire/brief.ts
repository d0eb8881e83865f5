/** Cuts a text to at most `most` characters; an ellipsis stands for what was cut off. */
export function brief(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
