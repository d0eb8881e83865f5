/** A text cut to so many characters; what was cut off is shown as an ellipsis. */
export function brief(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
