"""What the codec does with a body that msgspec alone would refuse, or that strict validation must look at twice."""
