/** The path of that edge by which a message of a queue is delivered, as `{ id, body }`. The answer has its `outcome`. */
export const DELIVERIES = '/deliveries-of-a-queue'
