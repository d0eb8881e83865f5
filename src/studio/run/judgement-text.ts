import type { Judgement } from '../../contract/decision.ts'

/** Words what a decision model has said about a call or its result. */
export function judgementText({ ok, model = '', answer, probabilities = {}, code }: Judgement, about = 'call'): string {
  const [go, halt] =
    about === 'call' ? ['it goes ahead', 'a person decides'] : ['its result is read', 'its result is withheld']
  if (answer === undefined) return `No answer of the decision model ${model} (${code ?? 'unknown'}): ${ok ? go : halt}.`
  const shares = Object.entries(probabilities).map(([name, share]) => `${name} ${(share * 100).toFixed(1)} %`)
  return `The decision model ${model} says ${shares.join(', ')}: ${ok ? go : halt}.`
}
