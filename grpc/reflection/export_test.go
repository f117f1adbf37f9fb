package reflection

// StreamsMost is how many tools may ask at once.
const StreamsMost = streamsMost
