import type { Judgement } from '../../contract/decision.ts'

/** Words what a decision model has said about a call. */
export function judgementText({ ok, model = '', answer, probabilities = {}, code }: Judgement): string {
  if (answer === undefined) return `No answer of the decision model ${model} (${code ?? 'unknown'}): a person decides.`
  const shares = Object.entries(probabilities).map(([name, share]) => `${name} ${(share * 100).toFixed(1)} %`)
  return `The decision model ${model} says ${shares.join(', ')}: ${ok ? 'it goes ahead' : 'a person decides'}.`
}
