namespace swarm {}
