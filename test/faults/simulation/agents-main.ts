import { registerHooks } from 'node:module'

/** `node agents-main.ts <seed> …`: simulations of runs with agents, of each of these seeds. */
const RUNTIME = new URL('../../fixtures/runtime.ts', import.meta.url).href

// What workerd gives are empty classes in Node.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'cloudflare:workers' ? { url: RUNTIME, shortCircuit: true } : next(specifier, context),
})
const { simulateAgents } = await import('./agents.ts')

let children = 0
for (const seed of process.argv.slice(2).map(Number)) {
  const simulated = await simulateAgents(seed)
  children += simulated.children
  for (const fault of simulated.faults) console.log(`FAULT seed ${seed}: ${fault}`)
  if (simulated.faults.length > 0) console.log(`   ${simulated.trace.join('\n   ')}`)
}
console.log(`${children} runs of agents`)
