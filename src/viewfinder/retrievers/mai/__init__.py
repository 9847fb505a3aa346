"""MAI (Chen et al., ICLR 2025): many turns of pictures and modifications, with rollback and combination."""
